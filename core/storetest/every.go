package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// sample is one limit of each way to count.
type sample struct {
	name   string
	limit  core.Limit
	shaped bool
}

var samples = []sample{
	{"token bucket", core.PerMinute(5), false},
	{"token bucket with burst", core.Per(3, 7*time.Second).WithBurst(8), false},
	{"leaky bucket", core.PerMinute(5).With(core.LeakyBucket), false},
	{"fixed window", core.PerMinute(5).With(core.FixedWindow), false},
	{"sliding window", core.PerMinute(5).With(core.SlidingWindow), false},
	{"sliding log", core.PerMinute(5).With(core.SlidingLog), false},
	{"fixed window with offset", core.PerMinute(5).With(core.FixedWindow).WithOffset(17 * time.Second), true},
	{"sliding window with offset", core.PerHour(5).With(core.SlidingWindow).WithOffset(time.Microsecond), true},
	{"steps", core.PerMinute(4).WithStep(2).WithBurst(5), true},
	{"start", core.PerMinute(4).WithBurst(7).WithStart(5), true},
	{"steps and start", core.PerMinute(5).WithStep(5).WithBurst(8).WithStart(5), true},
	{"day", core.PerCalendar(5, core.Daily, nil), true},
	{"month", core.PerCalendar(5, core.Monthly, nil), true},
}

func (s sample) runs(of core.Store) bool {
	return kind{algorithm: s.limit.Algorithm, shaped: s.shaped}.runs(of)
}

// each runs a test with every limit that the store has. The clock stands in the middle of everything.
func each(test func(*testing.T, *harness, core.Limit, func(key string) core.Bucket)) func(*testing.T, *harness) {
	return func(t *testing.T, h *harness) {
		h.Clock.Advance(12_345_678_901)
		for _, s := range samples {
			if s.runs(h.Store) {
				t.Run(s.name, func(t *testing.T) {
					test(t, h, s.limit, func(key string) core.Bucket { return bucket(s.name+" "+key, s.limit) })
				})
			}
		}
	}
}

// same holds two buckets to saying the same now and later.
func (h *harness) same(t *testing.T, a, b core.Bucket) {
	t.Helper()
	for range 4 {
		if x, y := h.peek(t, a)[0], h.peek(t, b)[0]; show(x) != show(y) {
			t.Errorf("%v says %s, and %v %s", a.Level, show(x), b.Level, show(y))
		}
		h.Clock.Advance(a.Limit.Period / 3)
	}
}

// everyTests: what all algorithms have in common.
var everyTests = map[string]func(*testing.T, *harness){
	"admits exactly what it has, and tells how much that is": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b := named("b")
		for left := l.Start() - 1; left >= 0; left-- {
			if o := h.take(t, b)[0]; !o.Admits || !o.Charged || o.Remaining != left || o.RetryAfter != 0 || o.ResetAfter <= 0 {
				t.Errorf("with %d left after it: %s", left, show(o))
			}
		}
		for range 3 {
			if o := h.take(t, b)[0]; o.Admits || o.Charged || o.Remaining != 0 || o.RetryAfter <= 0 || o.ResetAfter <= 0 {
				t.Errorf("empty: %s", show(o))
			}
		}
	}),

	"waiting exactly as long as told is enough, and a nanosecond less is not": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		for _, cost := range []int64{1, 2, l.Start(), l.Capacity()} {
			b := named(fmt.Sprint("b", cost))
			h.spend(t, b, int(l.Start())-1)
			h.Clock.Advance(1_234_567)
			h.spend(t, b, 1)
			wait := h.take(t, costing(b, cost))[0].RetryAfter
			h.Clock.Advance(wait - 1)
			if o := h.take(t, costing(b, cost))[0]; o.Admits || o.RetryAfter != 1 {
				t.Errorf("cost %d, a nanosecond before %v are over: %s", cost, wait, show(o))
			}
			h.Clock.Advance(1)
			equal(t, fmt.Sprint("cost ", cost, " admitted in time"), h.take(t, costing(b, cost))[0].Admits, true)
		}
	}),

	"another unit is back, or the window over, exactly when told": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b := named("b")
		h.spend(t, b, 2)
		for range 8 {
			o := h.peek(t, b)[0]
			if o.ResetAfter == 0 {
				equal(t, "left when full", o.Remaining, l.Capacity())
				return
			}
			h.Clock.Advance(o.ResetAfter - 1)
			equal(t, "left a nanosecond before", h.left(t, b), o.Remaining)
			h.Clock.Advance(1)
			if left := h.left(t, b); left <= o.Remaining && (o.Remaining < l.Capacity()) {
				t.Errorf("%d left %v later, want more than %d", left, o.ResetAfter, o.Remaining)
			}
		}
	}),

	"a refusal changes nothing, now or later": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b, twin, empty := named("b"), named("twin"), bucket(l.String()+" empty", core.PerHour(1))
		h.take(t, empty)
		for _, x := range []core.Bucket{b, twin} {
			h.spend(t, x, 3)
		}
		for i := range 20 {
			equal(t, "charged", h.take(t, b, empty)[0].Charged, false)
			equal(t, "charged", h.take(t, costing(b, l.Capacity()+int64(i%2)))[0].Charged, false)
			h.Clock.Advance(time.Duration(i))
		}
		h.same(t, b, twin)
	}),

	"a cost above the capacity is never admitted": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		for _, cost := range []int64{l.Capacity() + 1, 1 << 40, 1 << 62} {
			o := h.take(t, costing(named("b"), cost))[0]
			equal(t, fmt.Sprint("cost ", cost, " admitted"), o.Admits, false)
			equal(t, "left", o.Remaining, l.Start())
		}
	}),

	"a reset is as good as never used, and full": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b := named("b")
		h.spend(t, b, 10)
		if err := h.Store.Reset(context.Background(), []core.Bucket{b}); err != nil {
			t.Fatal(err)
		}
		equal(t, "left", h.left(t, b), l.Capacity())
		equal(t, "admitted", h.spend(t, b, 20), int(l.Capacity()))
	}),
}
