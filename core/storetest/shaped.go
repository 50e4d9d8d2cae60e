package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// shapeTests: token buckets that do not start full, or that refill in steps.
var shapeTests = map[string]func(*testing.T, *harness){
	"a new key holds what it starts with, also after refusals": shaping(func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(6).WithStart(2))
		h.Clock.Advance(7_777_777_777)
		for range 5 {
			if o := h.take(t, costing(b, 3))[0]; o.Admits || o.Remaining != 2 || o.RetryAfter != 10*time.Second {
				t.Errorf("more than it starts with: %s", show(o))
			}
		}
		h.Clock.Advance(4 * time.Second)
		equal(t, "retry after 4 s", h.take(t, costing(b, 3))[0].RetryAfter, 6*time.Second)
		h.Clock.Advance(6 * time.Second)
		equal(t, "admitted after 10 s", h.take(t, costing(b, 3))[0].Admits, true)
	}),

	"a peek makes no key known": shaping(func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(6).WithStart(0))
		for range 5 {
			equal(t, "left", h.left(t, b), 0)
			h.Clock.Advance(10 * time.Second)
		}
		h.take(t, b)
		h.Clock.Advance(30 * time.Second)
		equal(t, "left half a minute after it was met", h.left(t, b), 3)
	}),

	"a key is new again when it was full for as long as it takes to fill, and not before": shaping(func(t *testing.T, h *harness) {
		for _, l := range []core.Limit{core.PerMinute(6).WithStart(2), core.PerMinute(6).WithStep(3).WithStart(2)} {
			h.to(time.Minute) // a step
			b := bucket(l.String(), l)
			h.spend(t, b, 2)
			h.Clock.Advance(2*time.Minute - 1)
			equal(t, "left just before", h.left(t, b), 6)
			h.Clock.Advance(1)
			equal(t, "left then", h.left(t, b), 2)
		}
	}),

	"a key that is used is never new again": shaping(func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(6).WithStart(0))
		h.take(t, b)
		h.Clock.Advance(time.Minute)
		for range 20 {
			equal(t, "admitted", h.take(t, b)[0].Admits, true)
			h.Clock.Advance(time.Minute)
			equal(t, "left", h.left(t, b), 6)
		}
	}),

	"a reset fills a bucket that does not start full": shaping(func(t *testing.T, h *harness) {
		for _, l := range []core.Limit{core.PerHour(6).WithStart(1), core.PerHour(6).WithStep(3).WithStart(1)} {
			b, fresh := bucket(l.String(), l), bucket(l.String()+" fresh", l)
			h.take(t, b)
			for _, x := range []core.Bucket{b, fresh} {
				if err := h.Store.Reset(context.Background(), []core.Bucket{x}); err != nil {
					t.Fatal(err)
				}
				equal(t, "left", h.left(t, x), 6)
			}
		}
	}),

	"what is owed is time, however coarsely a limit counts it": shaping(func(t *testing.T, h *harness) {
		years := core.PerHour(1).WithBurst(24 * 365 * 200)
		for name, row := range map[string]struct {
			fine, coarse core.Limit
			owed         int64 // minutes
		}{
			"full":  {core.PerHour(60).WithBurst(600), years, 300},
			"start": {core.PerHour(60).WithBurst(600).WithStart(599), years.WithStart(1), 301},
		} {
			fine, coarse := bucket(name, row.fine), bucket(name, row.coarse)
			h.spend(t, fine, 300)
			equal(t, name+": left of the coarse", h.left(t, coarse), years.Burst-(row.owed+59)/60)
			h.take(t, coarse)
			equal(t, name+": left of the fine", h.left(t, fine), 600-60-row.owed)
		}
	}),

	"steps bring nothing between the multiples of their interval, and all at once at them": shaping(func(t *testing.T, h *harness) {
		l := core.PerMinute(6).WithStep(2).WithBurst(5) // every 20 s
		h.to(time.Minute)
		minute := h.Clock.Now()
		h.Clock.Advance(7 * time.Second)
		b := bucket("b", l)
		equal(t, "at once", h.spend(t, b, 10), 5)
		for _, row := range []struct {
			to   time.Duration // after the minute
			left int64
		}{{20*time.Second - 1, 0}, {20 * time.Second, 2}, {40*time.Second - 1, 2}, {40 * time.Second, 4}, {time.Minute - 1, 4}, {time.Minute, 5}, {100 * time.Second, 5}} {
			h.Clock.Advance(minute.Add(row.to).Sub(h.Clock.Now()))
			if o := h.peek(t, b)[0]; o.Remaining != row.left {
				t.Errorf("%v after the minute: %s, want %d left", row.to, show(o), row.left)
			}
		}
	}),

	"the whole quota at the beginning of each period": shaping(func(t *testing.T, h *harness) {
		b := bucket("b", core.Per(5, 100*time.Millisecond).WithStep(5))
		h.Clock.Advance(33 * time.Millisecond)
		for range 10 {
			equal(t, "admitted", h.spend(t, b, 9), 5)
			wait := h.take(t, b)[0].RetryAfter
			equal(t, "step at a multiple", h.Clock.Now().Add(wait).UnixNano()%1e8, 0)
			h.Clock.Advance(wait)
		}
	}),
}

// to moves the clock to the next multiple of a span since the epoch.
func (h *harness) to(span time.Duration) {
	h.Clock.Advance(span - time.Duration(h.Clock.Now().UnixNano())%span)
}
