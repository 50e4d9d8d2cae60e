package core_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func banning(l core.Level, b core.Ban) core.Level {
	l.Ban = b
	return l
}

var oneDenial = core.Ban{After: 1, Within: time.Hour, For: 2 * time.Hour}

func TestBanSaysWhatIsWrong(t *testing.T) {
	for want, level := range map[string]core.Level{
		"ban: after is 0":           banning(core.PerUser(core.PerHour(1)), core.Ban{Within: 1, For: 1}),
		"ban: after is 1001":        banning(core.PerUser(core.PerHour(1)), core.Ban{After: 1001, Within: time.Hour, For: time.Hour}),
		"ban: within is 0s":         banning(core.PerUser(core.PerHour(1)), core.Ban{After: 1, For: time.Hour}),
		"ban: for is 1ns":           banning(core.PerUser(core.PerHour(1)), core.Ban{After: 1, Within: time.Hour, For: 1}),
		"ban: multiply is -1":       banning(core.PerUser(core.PerHour(1)), core.Ban{After: 1, Within: time.Hour, For: time.Hour, Multiply: -1}),
		"ban: max is 1m0s":          banning(core.PerUser(core.PerHour(1)), core.Ban{After: 1, Within: time.Hour, For: time.Hour, Max: time.Minute}),
		"ban is set on a shadow":    shadow(banning(core.PerUser(core.PerHour(1)), oneDenial)),
		"ban is set beside a guard": guarded(banning(core.PerUser(core.PerHour(60)), oneDenial), saying(core.CheckKey, 0)),
	} {
		store := memstore.New()
		if _, err := core.New(store, core.Policy{level}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		_ = store.Close()
	}
	s := &script{traits: core.Traits{Algorithms: everyAlgorithm, Local: true}}
	if _, err := core.New(s, core.Policy{banning(core.PerUser(core.PerHour(1)), oneDenial)}); err == nil || !strings.Contains(err.Error(), "the store has no bans") {
		t.Errorf("over a store without bans: %v", err)
	}
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestBanShowsInTheDecisionAlone(t *testing.T) {
	l, _ := limiting(t, core.Policy{banning(core.PerUser(core.PerHour(1)), oneDenial), core.PerIP(core.PerHour(9))})
	r := on("192.0.2.1", "u", "")
	for i, want := range []core.Reason{core.None, core.Quota, core.Banned} {
		d := l.Check(ctx, r)
		same(t, "reason", d.Reason, want)
		same(t, "results", len(d.Levels()), 2)
		equal(t, "policies shown", lines(d)[:1], []string{`RateLimit-Policy: "user";q=1;w=3600, "ip";q=9;w=3600`})
		if d.Level != "user" || (i > 0) != (d.Status() == 429) {
			t.Errorf("request %d: %+v", i, d)
		}
	}
	d := l.Peek(ctx, r)
	if !strings.HasPrefix((&core.DeniedError{Decision: d}).Error(), "banned") || d.RetryAfter <= time.Hour || d.ResetAfter != d.RetryAfter {
		t.Errorf("%+v", d)
	}
	if _, err := l.Wait(ctx, r); err == nil || errors.Is(err, ctx.Err()) {
		t.Errorf("waiting for the end of a ban: %v", err)
	}
}

// Looking is not asking, and what a level could never admit says nothing of a caller.
func TestWhatIsNoDenialDoesNotBan(t *testing.T) {
	l, _ := limiting(t, core.Policy{banning(core.PerUser(core.PerHour(2)), oneDenial), core.PerIP(core.PerHour(5))})
	r := on("192.0.2.1", "u", "")
	never := r
	never.Cost = 3
	same(t, "reason", l.Check(ctx, never).Reason, core.Never)
	same(t, "reason", l.Check(ctx, r).Reason, core.None)
	same(t, "reason", l.Check(ctx, r).Reason, core.None)
	same(t, "reason", l.Peek(ctx, r).Reason, core.Quota)
	for _, name := range []string{"a", "b", "c"} { // the three that the address has left
		same(t, "reason", l.Check(ctx, on("192.0.2.1", name, "")).Reason, core.None)
	}
	d := l.Check(ctx, on("192.0.2.1", "x", ""))
	if d.Reason != core.Quota || d.Level != "ip" {
		t.Errorf("%+v, want a denial at the level ip", d)
	}
	if err := l.Reset(ctx, r, "ip"); err != nil {
		t.Fatal(err)
	}
	same(t, "denied at another level only", l.Check(ctx, on("192.0.2.1", "x", "")).Reason, core.None)
}

func TestLiftWantsAListedBan(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(1))})
	if err := l.Lift(ctx, core.ActiveBan{Level: "user", ID: "u"}); err == nil {
		t.Error("a ban that was made up is lifted")
	}
	if bans, err := l.Bans(ctx); err != nil || len(bans) != 0 {
		t.Errorf("%v, %v", bans, err)
	}
}

// Who waits as long as it takes does what is asked for, even where others of the same name go first.
func TestWaitingIsNoOffence(t *testing.T) {
	p := core.Policy{banning(core.PerUser(core.PerSecond(5).WithBurst(1)), core.Ban{After: 2, Within: time.Hour, For: time.Hour})}
	waiting(t, p, func(t *testing.T, l *core.Limiter) {
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if _, err := l.Wait(ctx, user("u")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		same(t, "reason of a denial after it", l.Check(ctx, user("u")).Reason, core.Quota)
	})
}
