package core_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func shadow(l core.Level) core.Level {
	l.Shadow = true
	return l
}

func TestShadowNeverDeniesNorShows(t *testing.T) {
	for _, p := range orders(core.Policy{shadow(core.PerIP(core.PerHour(1))), core.PerUser(core.PerHour(5))}) {
		l, _ := limiting(t, p)
		r := on("192.0.2.1", "u", "")
		would, denied := 0, 0
		for range 10 {
			d := l.Check(ctx, r)
			if !d.Allowed {
				denied++
			}
			if d.Level != "user" || d.Limit != core.PerHour(5) || d.RetryAfter > 12*time.Minute {
				t.Errorf("the shadow shows: %+v", d)
			}
			equal(t, "policies shown", lines(d)[:1], []string{`RateLimit-Policy: "user";q=5;w=3600`})
			for _, part := range d.Levels() {
				if part.Shadow && part.Denied {
					would++
				}
			}
		}
		if denied != 5 || would != 9 {
			t.Errorf("%d denied and %d would be, want 5 and 9", denied, would)
		}
	}
}

// Its numbers are those it would have if it were alone: it pays for what it would admit, also
// when another level refuses.
func TestShadowIsChargedAsIfItWereAlone(t *testing.T) {
	l, _ := limiting(t, core.Policy{shadow(core.PerIP(core.PerHour(8))), core.PerUser(core.PerHour(2))})
	r := on("192.0.2.1", "u", "")
	for i := range int64(10) {
		if got, want := left(t, l, r, "ip"), max(8-i, 0); got != want {
			t.Errorf("after %d requests the shadow has %d left, want %d", i, got, want)
		}
		l.Check(ctx, r)
	}
	if got := left(t, l, r, "user"); got != 0 {
		t.Errorf("%d left", got)
	}
}

// The same when what refuses could never admit, or admits nothing on purpose.
func TestShadowIsChargedBesideANever(t *testing.T) {
	l, _ := limiting(t, core.Policy{shadow(core.PerIP(core.PerHour(100))), core.PerUser(core.PerHour(2))})
	r := on("192.0.2.1", "u", "")
	if d := l.Check(ctx, cost(r, 3)); d.Reason != core.Never {
		t.Fatalf("%+v", d)
	}
	if got := left(t, l, r, "ip"); got != 97 {
		t.Errorf("cost above another level's capacity: the shadow has %d left, want 97", got)
	}
	blocked, _ := limiting(t, core.Policy{shadow(core.PerIP(core.PerHour(100))), core.PerUser(core.BlockAll)})
	blocked.Check(ctx, r)
	if got := left(t, blocked, r, "ip"); got != 99 {
		t.Errorf("beside a block: the shadow has %d left, want 99", got)
	}
}

func TestShadowWithCostAboveItsCapacityJustReports(t *testing.T) {
	l, _ := limiting(t, core.Policy{shadow(core.PerIP(core.PerHour(2))), core.PerUser(core.PerHour(10)), shadow(core.PerKey("block", fixed, core.BlockAll))})
	d := l.Check(ctx, cost(on("192.0.2.1", "u", ""), 3))
	if !d.Allowed || d.Remaining != 7 || d.Reason != core.None {
		t.Errorf("%+v", d)
	}
	for _, part := range d.Levels() {
		if part.Denied != part.Shadow {
			t.Errorf("%+v", part)
		}
	}
}

// The failure of a shadow is no failure of the decision.
func TestShadowFailsSilently(t *testing.T) {
	failed := core.Outcome{Err: core.ErrClosed, Source: core.FromNothing}
	level := shadow(core.PerKey("a", fixed, core.PerHour(1)))
	level.OnFailure = core.Closed
	d := limiter(t, scripted(failed, admits(3, time.Second)), core.Policy{level, core.PerKey("b", fixed, core.PerHour(5))}).Check(ctx, core.Request{})
	if !d.Allowed || d.Err != nil || d.Source != core.FromShared || d.Level != "b" {
		t.Errorf("%+v", d)
	}
}

func TestShadowDoesNotDelay(t *testing.T) {
	slow := admits(3, time.Second)
	slow.Delay = time.Minute
	d := limiter(t, scripted(slow), core.Policy{shadow(core.PerKey("a", fixed, core.PerHour(5).With(core.LeakyBucket)))}).Check(ctx, core.Request{})
	if !d.Allowed || d.Delay != 0 || d.Level != "" {
		t.Errorf("%+v", d)
	}
}

// A limiter in trial before one in earnest: its counters are its own, and its verdicts nobody's.
func TestTrialLimiterBeforeARealOne(t *testing.T) {
	s, _ := memory(t)
	var would, denied int
	count := func(n *int) core.Option {
		return core.WithObserver(func(d core.Decision) {
			for _, part := range d.Levels() {
				if part.Denied {
					*n++
				}
			}
		})
	}
	trial := limiter(t, s, core.Policy{shadow(core.PerUser(core.PerHour(1)))}, core.WithName("trial"), count(&would))
	enforcing := limiter(t, s, core.Policy{core.PerUser(core.PerHour(5))}, core.WithName("real"), count(&denied))
	allowed := 0
	for range 10 {
		c, d := trial.Admit(ctx, user("u"), 0)
		if !d.Allowed || len(lines(d)) != 0 {
			t.Fatalf("trial: %+v with %q", d, lines(d))
		}
		_, d = enforcing.Admit(c, user("u"), 0)
		if d.Allowed {
			allowed++
		}
		if len(lines(d)) != 2 && d.Allowed {
			t.Errorf("headers %q", lines(d))
		}
	}
	if allowed != 5 || denied != 5 || would != 9 {
		t.Errorf("%d allowed, %d denied, %d would be; want 5, 5, 9", allowed, denied, would)
	}
}
