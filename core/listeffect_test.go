package core_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestAllowListedIsNotCounted(t *testing.T) {
	s, _ := memory(t)
	l := limiter(t, s, core.Policy{core.PerIP(core.PerHour(2)), core.Global(core.PerHour(2))}, core.WithAllowList(users("ann")))
	if got := admitted(l, on("192.0.2.1", "ann", ""), 50); got != 50 {
		t.Errorf("%d of 50 admitted", got)
	}
	if got := s.Stats().Entries; got != 0 {
		t.Errorf("%d buckets, want none", got)
	}
	if d := l.Check(ctx, cost(user("ann"), 3)); !d.Allowed || d.Settle(ctx, 100) != nil || d.Refund(ctx) != nil || s.Stats().Entries != 0 {
		t.Errorf("above the capacity: %+v, %d buckets", d, s.Stats().Entries)
	}
}

// A client that was taken off a list meets its buckets again; Reset reaches them before that.
func TestResetReachesBucketsOfTheListed(t *testing.T) {
	policy := core.Policy{core.PerUser(core.PerHour(1))}
	for name, opt := range map[string]core.Option{"allow": core.WithAllowList(users("ann")), "deny": core.WithDenyList(users("ann"))} {
		l, _ := limiting(t, policy)
		admitted(l, user("ann"), 2)
		if err := l.SetPolicy(policy, opt); err != nil {
			t.Fatal(err)
		}
		if err := l.Reset(ctx, user("ann")); err != nil {
			t.Fatal(err)
		}
		if err := l.SetPolicy(policy, core.WithAllowList(core.List{}), core.WithDenyList(core.List{})); err != nil {
			t.Fatal(err)
		}
		if !l.Check(ctx, user("ann")).Allowed {
			t.Errorf("%s: still exhausted", name)
		}
	}
}

func TestWaitGivesUpOnTheDenyList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		defer s.Close()
		l := limiter(t, s, core.Policy{core.PerUser(core.PerHour(1))}, core.WithDenyList(users("eve")), core.WithAllowList(users("ann")))
		start := time.Now()
		d, err := l.Wait(ctx, user("eve"))
		if err == nil || !strings.Contains(err.Error(), "listed") {
			t.Errorf("error is %v, want one that names the reason", err)
		}
		isDenyListed(t, "waiting", d)
		for range 3 {
			if d, err := l.Wait(ctx, user("ann")); err != nil || !d.Allowed {
				t.Errorf("allow-listed: %+v, %v", d, err)
			}
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestListedDecisionsAreObserved(t *testing.T) {
	seen := map[core.Reason]int{}
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(1))}, core.WithDenyList(users("eve")), core.WithAllowList(users("ann")),
		core.WithObserver(func(d core.Decision) { seen[d.Reason]++ }))
	l.Check(ctx, user("eve"))
	l.Check(ctx, user("ann"))
	l.Peek(ctx, user("eve"))
	if len(seen) != 2 || seen[core.Listed] != 1 || seen[core.None] != 1 {
		t.Errorf("observed %v, want one listed and one none", seen)
	}
}

func TestListedAsAnError(t *testing.T) {
	l, _ := limiting(t, core.Exempt, core.WithDenyList(users("eve")))
	err := &core.DeniedError{Decision: l.Check(ctx, user("eve"))}
	if want := "forbidden: on the deny list"; err.Error() != want {
		t.Errorf("error is %q, want %q", err.Error(), want)
	}
}
