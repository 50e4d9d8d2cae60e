package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// schedule sends one request at each of the instants and lists those that passed.
func schedule(t *testing.T, limit core.Limit, every time.Duration, n int) (passed []int) {
	t.Helper()
	l, c := limiting(t, core.Policy{core.PerUser(limit)})
	for i := range n {
		c.set(time.Duration(i) * every)
		if l.Check(ctx, user("u")).Allowed {
			passed = append(passed, i)
		}
	}
	return passed
}

func TestDenialsCostNothing(t *testing.T) {
	want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18}
	if got := schedule(t, core.Per(5, 10*time.Second), time.Second, 20); !slices.Equal(got, want) {
		t.Errorf("5 per 10 s, one request a second: admitted at %v, want %v", got, want)
	}
}

func TestClientAtExactlyTheRateIsNeverRefused(t *testing.T) {
	if got := schedule(t, core.PerSecond(1), time.Second, 60); len(got) != 60 {
		t.Errorf("1/s each second: %v", got)
	}
	if got := schedule(t, core.Per(1, 100*ms), 100*ms, 600); len(got) != 600 {
		t.Errorf("1 per 100 ms each 100 ms: %d of 600", len(got))
	}
	if got := schedule(t, core.PerSecond(10), 200*ms, 300); len(got) != 300 {
		t.Errorf("half the rate for a minute: %d of 300", len(got))
	}
}

func TestOneNanosecondEarlyIsRefused(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerSecond(1))})
	l.Check(ctx, user("u"))
	c.set(time.Second - 1)
	if d := l.Check(ctx, user("u")); d.Allowed || d.RetryAfter != 1 || retryAfter(t, d) != 1 {
		t.Errorf("a nanosecond early: %+v", d)
	}
	c.set(time.Second)
	if !l.Check(ctx, user("u")).Allowed {
		t.Error("refused on time")
	}
}

func TestBurstPlusRateIsTheBound(t *testing.T) {
	if got := len(schedule(t, core.PerMinute(15), 10*ms, 6000)); got != 29 { // 15 and 14 more before the minute is over
		t.Errorf("15/min, a minute of greed: %d, want 29", got)
	}
	if got := len(schedule(t, core.PerSecond(3), 100*ms, 100)); got > 33 || got < 31 {
		t.Errorf("3/s, ten seconds at 10/s: %d, want 3 and 10 times 3 at most", got)
	}
	if got := len(schedule(t, core.Per(2, 100*ms), ms, 1000)); got < 20 || got > 22 {
		t.Errorf("2 per 100 ms, a second of greed: %d, want 20 to 22", got)
	}
	if got := len(schedule(t, core.PerSecond(10_000).WithBurst(1), 100*time.Microsecond, 20_000)); got != 20_000 {
		t.Errorf("10000/s at its rate: %d of 20000", got)
	}
	if got := len(schedule(t, core.PerSecond(10_000).WithBurst(1), 50*time.Microsecond, 20_000)); got != 10_000 {
		t.Errorf("10000/s at twice its rate: %d of 20000, want 10000", got)
	}
}

// Silence is no amnesty: who comes back has what time has refilled.
func TestIdleClientStillOwes(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.Per(3, 45*time.Second))})
	if got := admitted(l, user("u"), 3); got != 3 {
		t.Fatalf("%d of 3 admitted", got)
	}
	for _, step := range []struct {
		at    time.Duration
		retry int64
	}{{7 * time.Second, 8}, {14900 * ms, 1}, {15 * time.Second, 0}} {
		c.set(step.at)
		d := l.Check(ctx, user("u"))
		if d.Allowed != (step.retry == 0) || retryAfter(t, d) != step.retry || d.Remaining != 0 {
			t.Errorf("at %v: allowed %v, Retry-After %d, %d left; want Retry-After %d, 0 left", step.at, d.Allowed, retryAfter(t, d), d.Remaining, step.retry)
		}
	}
	hourly, c := limiting(t, core.Policy{core.PerUser(core.PerHour(5))})
	admitted(hourly, user("u"), 5)
	c.set(6 * time.Minute)
	if d := hourly.Check(ctx, user("u")); d.Allowed || d.RetryAfter != 6*time.Minute {
		t.Errorf("5/h, six minutes later: %+v, want a denial for six more", d)
	}
}

func TestClockThatStepsBackLocksNobodyOut(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerSecond(10))})
	c.set(2 * time.Hour)
	admitted(l, user("u"), 10)
	c.set(time.Hour)
	d := l.Check(ctx, user("u"))
	if d.Allowed || retryAfter(t, d) != 1 {
		t.Errorf("after the step: allowed %v, Retry-After %d; want a denial of one second", d.Allowed, retryAfter(t, d))
	}
	c.advance(time.Second)
	if got := admitted(l, user("u"), 20); got != 10 {
		t.Errorf("a second of new time later: %d admitted, want 10", got)
	}
	// A state from the far future, met at the second: one refill is enough.
	c.set(10 * time.Hour)
	admitted(l, user("v"), 10)
	c.set(time.Hour)
	if d := l.Peek(ctx, user("v")); d.RetryAfter > time.Second || d.ResetAfter > time.Second {
		t.Errorf("wait of %v, reset of %v", d.RetryAfter, d.ResetAfter)
	}
}

func TestCostAboveCapacityIsNeverAdmitted(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerSecond(5)), core.PerIP(core.PerSecond(100))})
	r := on("192.0.2.1", "u", "")
	for _, idle := range []time.Duration{0, 1000 * time.Hour} {
		c.advance(idle)
		d := l.Check(ctx, cost(r, 10))
		if d.Allowed || d.Reason != core.Never || d.Level != "user" || d.Remaining != 5 || d.RetryAfter != 0 || retryAfter(t, d) != 0 {
			t.Errorf("idle for %v: %+v", idle, d)
		}
		if d.Status() != 429 {
			t.Errorf("status %d", d.Status())
		}
	}
	if ip, u := left(t, l, r, "ip"), left(t, l, r, "user"); ip != 100 || u != 5 {
		t.Errorf("%d and %d left, want nothing charged", ip, u)
	}
	if d := l.Check(ctx, cost(r, 5)); !d.Allowed || d.Remaining != 0 {
		t.Errorf("cost of the whole capacity: %+v", d)
	}
}

func TestNegativeCostIsInvalidAndZeroIsOne(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerMinute(2))})
	if d := l.Check(ctx, user("u")); d.Remaining != 1 {
		t.Fatalf("cost 0: %d left of 2", d.Remaining)
	}
	l.Check(ctx, user("u"))
	for _, n := range []int64{-1, -5, -1 << 63} {
		d := l.Check(ctx, cost(user("u"), n))
		if d.Allowed || d.Reason != core.Invalid || d.Err == nil || d.RetryAfter != 0 {
			t.Errorf("cost %d: %+v", n, d)
		}
		if err := d.Refund(ctx); err != nil {
			t.Errorf("refund of nothing: %v", err)
		}
	}
	if l.Check(ctx, user("u")).Allowed {
		t.Error("a negative cost has filled the bucket")
	}
	if d := l.Peek(ctx, cost(user("fresh"), -1)); d.Reason != core.Invalid {
		t.Errorf("peek: %+v", d)
	}
}
