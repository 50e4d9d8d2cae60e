package core_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// What was spent stays spent when the numbers of a limit change, also of one that is counted in
// another way than continuously.
func TestSetPolicyByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		spend(t, l)
		wider := w.limit
		wider.Quota, wider.Burst = 2*w.limit.Quota, 2*w.limit.Burst
		wider = wider.WithStep(2 * w.limit.Step()) // the interval stays
		set(t, l, core.Policy{core.PerUser(wider)})
		d := l.Peek(ctx, user("u"))
		switch w.limit.Algorithm {
		case core.TokenBucket, core.LeakyBucket: // steps and starts are other counts
			if plain := w.limit.Step() == 0 && w.limit.Start() == w.limit.Capacity(); plain && d.RetryAfter != w.next/2 {
				t.Errorf("debt is time: %+v, want it refused for half as long", d)
			}
		default:
			if !d.Allowed || d.Remaining != 3 {
				t.Errorf("units are units: %+v, want three of six left", d)
			}
		}
		set(t, l, core.Policy{core.PerUser(w.limit)})
		if d := l.Peek(ctx, user("u")); d.Allowed || d.RetryAfter != w.next {
			t.Errorf("as it was before: %+v, want it refused for %v", d, w.next)
		}
	})
}

// Whoever spent three is not locked out by a limit of one: the wait is that of the limit alone.
func TestLoweringByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		spend(t, l)
		lower := w.limit
		lower.Quota = 1
		if lower.Burst > 0 {
			lower.Burst = 1
		}
		lower = lower.WithStep(min(lower.Step(), 1)).WithStart(1)
		if lower.Algorithm != core.TokenBucket {
			lower = w.limit
			lower.Quota = 1
		}
		set(t, l, core.Policy{core.PerUser(lower)})
		longest := lower.Period
		switch {
		case lower.Algorithm == core.SlidingWindow: // this window, and the next
			longest *= 2
		case lower.Calendar() != core.NoCalendar:
			longest = w.next
		}
		d := l.Check(ctx, user("u"))
		if d.RetryAfter > longest || (!d.Allowed && d.Reason != core.Quota) {
			t.Fatalf("%+v, want a wait of %v at most", d, longest)
		}
		time.Sleep(d.RetryAfter)
		if again := l.Check(ctx, user("u")); !d.Allowed && !again.Allowed {
			t.Errorf("refused after waiting as told: %+v", again)
		}
	})
}

// Another algorithm, another step or calendar is another count.
func TestAnotherWayStartsClean(t *testing.T) {
	for name, w := range ways(t) {
		for other, o := range ways(t) {
			if sameState(w.limit, o.limit) {
				continue
			}
			l, _ := limiting(t, core.Policy{core.PerUser(w.limit)})
			admitted(l, user("u"), 4)
			set(t, l, core.Policy{core.PerUser(o.limit)})
			if d := l.Peek(ctx, user("u")); d.Remaining != o.limit.Start() || d.Delay != 0 {
				t.Errorf("from %s to %s: %+v, want it new", name, other, d)
			}
		}
	}
}

// sameState are limits that differ in numbers only: their state is read as it is.
func sameState(a, b core.Limit) bool {
	partial := func(l core.Limit) bool { return l.Step() == 0 && l.Start() < l.Capacity() }
	return a.Algorithm == b.Algorithm && a.Step() == b.Step() && a.Interval() == b.Interval() && partial(a) == partial(b) &&
		a.Offset() == b.Offset() && a.Calendar() == b.Calendar()
}
