package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func TestUnlimitedCountsNothing(t *testing.T) {
	s := scripted()
	l := limiter(t, s, core.Policy{core.PerUser(core.Unlimited)})
	d := l.Check(ctx, cost(user("u"), 1<<62))
	if !d.Allowed || d.Source != core.FromExempt || len(lines(d)) != 0 || len(s.asked()) != 0 {
		t.Errorf("%+v with %q, store asked %v", d, lines(d), s.asked())
	}
}

func TestBlockAllRefusesAndChargesNobody(t *testing.T) {
	for _, p := range orders(core.Policy{core.PerIP(core.PerHour(5)), core.PerUser(core.BlockAll), core.PerEndpoint(core.Unlimited)}) {
		l, c := limiting(t, p)
		r := on("192.0.2.1", "u", "GET /")
		for range 3 {
			d := l.Check(ctx, r)
			if d.Allowed || d.Reason != core.Never || d.Level != "user" || d.RetryAfter != 0 || d.Remaining != 0 || d.Status() != 429 {
				t.Errorf("%+v", d)
			}
			if slices.ContainsFunc(lines(d), func(s string) bool { return s[:3] == "Ret" }) {
				t.Errorf("headers %q tell when to come back", lines(d))
			}
			if got := left(t, l, r, "ip"); got != 5 {
				t.Errorf("%d left, want 5: a block has charged", got)
			}
			c.advance(time.Hour)
		}
		if d := l.Check(ctx, from("192.0.2.1")); !d.Allowed {
			t.Errorf("a request that the blocked level does not apply to: %+v", d)
		}
	}
}

// The levels' order is the policy's, whichever of them count.
func TestLevelsAreListedInThePolicysOrder(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerKey("first", fixed, core.BlockAll), core.PerKey("second", fixed, core.PerHour(1))})
	parts := l.Check(ctx, core.Request{}).Levels()
	if len(parts) != 2 || parts[0].Level != "first" || parts[1].Level != "second" {
		t.Errorf("%+v", parts)
	}
}

// What could never be admitted has no wait, in the details as little as in the whole.
func TestNeverHasNoWaitInTheLevels(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerSecond(5))})
	for _, part := range l.Check(ctx, cost(user("u"), 10)).Levels() {
		if !part.Denied || part.RetryAfter != 0 {
			t.Errorf("%+v, want a denial without a wait", part)
		}
	}
}
