package storetest

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/ledger"
)

// leakyTests: what a leaky bucket says of when to serve. They are skipped by stores without one.
var leakyTests = map[string]func(*testing.T, *harness){
	"a leaky bucket spaces what it admits": having(core.LeakyBucket, func(t *testing.T, h *harness) {
		b := bucket("b", core.Per(3, 7*time.Second).WithBurst(5).With(core.LeakyBucket))
		unit, due := ledger.UnitTime(b.Limit), time.Duration(0)
		start := h.Clock.Now()
		for i := range 30 {
			o := h.take(t, b)[0]
			at := h.Clock.Now().Sub(start)
			if o.Admits {
				if next := at + o.Delay; i > 0 && next != max(due+unit, at) {
					t.Errorf("step %d: served at %v, the one before at %v, want them %v apart", i, next, due, unit)
				}
				due = at + o.Delay
			} else if o.Delay != 0 || o.RetryAfter <= 0 {
				t.Errorf("step %d: refused: %s", i, show(o))
			}
			h.Clock.Advance([]time.Duration{0, time.Second, unit, 0, 1, unit / 3}[i%6])
		}
	}),

	"a peek at a leaky bucket tells the delay of the next": having(core.LeakyBucket, func(t *testing.T, h *harness) {
		b := bucket("b", core.PerSecond(10).With(core.LeakyBucket))
		for i := range 10 {
			equal(t, "delay by peek", h.peek(t, b)[0].Delay, time.Duration(i)*100*time.Millisecond)
			equal(t, "delay", h.take(t, b)[0].Delay, time.Duration(i)*100*time.Millisecond)
		}
		equal(t, "eleventh admitted", h.take(t, b)[0].Admits, false)
	}),

	"a leaky bucket of burst 1 makes nobody wait": having(core.LeakyBucket, func(t *testing.T, h *harness) {
		b := bucket("b", core.PerSecond(10).WithBurst(1).With(core.LeakyBucket))
		for range 5 {
			if o := h.take(t, b)[0]; !o.Admits || o.Delay != 0 {
				t.Errorf("in time: %s", show(o))
			}
			if o := h.take(t, b)[0]; o.Admits || o.Delay != 0 || o.RetryAfter != 100*time.Millisecond {
				t.Errorf("too early: %s", show(o))
			}
			h.Clock.Advance(100 * time.Millisecond)
		}
	}),

	"only the last slot of a leaky bucket can be given back": having(core.LeakyBucket, func(t *testing.T, h *harness) {
		b := bucket("b", core.PerSecond(10).With(core.LeakyBucket))
		var outs [][]core.Outcome
		for range 3 {
			outs = append(outs, h.take(t, b))
		}
		h.refund(t, []core.Bucket{b}, outs[0])
		h.refund(t, []core.Bucket{b}, outs[1])
		equal(t, "left after refunds of others", h.left(t, b), 7)
		h.refund(t, []core.Bucket{b}, outs[2])
		equal(t, "left after that of the last", h.left(t, b), 8)
		h.refund(t, []core.Bucket{b}, outs[1])
		equal(t, "left after that of the one that is the last now", h.left(t, b), 9)
		equal(t, "the next is served where that was", h.take(t, b)[0].Delay, 100*time.Millisecond)
	}),

	"the last slot can be given back also where a queue is counted coarsely": having(core.LeakyBucket, func(t *testing.T, h *harness) {
		h.Clock.Advance(123_456_789)
		b := bucket("b", core.PerHour(1).WithBurst(24*365*200).With(core.LeakyBucket))
		h.take(t, b)
		out := h.take(t, b)
		h.refund(t, []core.Bucket{b}, out)
		equal(t, "left", h.left(t, b), b.Limit.Burst-1)
	}),
}

// having skips a test for stores without the algorithm.
func having(a core.Algorithm, test func(*testing.T, *harness)) func(*testing.T, *harness) {
	return func(t *testing.T, h *harness) {
		if !(kind{algorithm: a}).runs(h.Store) {
			t.Skipf("the store has no %v", a)
		}
		test(t, h)
	}
}

// shaping skips a test for stores without steps, starts, offsets and calendars.
func shaping(test func(*testing.T, *harness)) func(*testing.T, *harness) {
	return func(t *testing.T, h *harness) {
		if !h.Store.Traits().Shapes {
			t.Skip("the store has no shapes")
		}
		test(t, h)
	}
}
