package storetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/ledger"
)

// arrival is what was admitted at an instant.
type arrival struct {
	at    time.Time
	units int64
}

// arrive lets requests come at random, often many at once, has each looked at before, and returns those
// that were admitted.
func (h *harness) arrive(t *testing.T, b core.Bucket, look func(before []arrival)) (admitted []arrival) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for range 300 {
		look(admitted)
		x := costing(b, 1+r.Int64N(3)*int64(r.IntN(2)))
		if h.take(t, x)[0].Charged {
			admitted = append(admitted, arrival{h.Clock.Now(), x.Cost})
		}
		switch r.IntN(6) {
		case 0:
			h.Clock.Advance(time.Duration(r.Int64N(int64(b.Limit.Period))))
		case 1:
			_, end := ledger.Window(b.Limit, h.Clock.Now())
			h.Clock.Advance(end.Sub(h.Clock.Now()) - time.Microsecond)
		case 2:
			h.Clock.Advance(h.peek(t, x)[0].RetryAfter)
		case 3, 4:
			h.Clock.Advance(time.Duration(r.Int64N(int64(b.Limit.Period / 8))))
		}
	}
	return admitted
}

// most is the most that was admitted in any stretch of less than that.
func most(admitted []arrival, stretch time.Duration) (units int64) {
	for i := range admitted {
		sum := int64(0)
		for _, a := range admitted[i:] {
			if a.at.UnixMicro()-admitted[i].at.UnixMicro() < stretch.Microseconds() {
				sum += a.units
			}
		}
		units = max(units, sum)
	}
	return units
}

// windowTests: what windows and logs admit in any Period, and whom a refund reaches.
var windowTests = map[string]func(*testing.T, *harness){
	"a fixed window admits twice its quota across an edge, and never more in a period": having(core.FixedWindow, func(t *testing.T, h *harness) {
		b := bucket("edge", core.PerMinute(10).With(core.FixedWindow))
		h.to(time.Minute)
		h.Clock.Advance(-1)
		equal(t, "before the edge", h.spend(t, b, 30), 10)
		equal(t, "until the edge", h.take(t, b)[0].RetryAfter, time.Duration(1))
		h.Clock.Advance(1)
		equal(t, "at the edge", h.spend(t, b, 30), 10)
		random := bucket("random", core.PerMinute(10).With(core.FixedWindow))
		if n := most(h.arrive(t, random, func([]arrival) {}), time.Minute); n > 20 {
			t.Errorf("%d admitted within a period, want at most twice the quota", n)
		}
	}),

	"a sliding log never admits more than its quota in any period": having(core.SlidingLog, func(t *testing.T, h *harness) {
		for name, l := range map[string]core.Limit{"minute": core.PerMinute(10), "odd": core.Per(7, 3_333_333*time.Microsecond)} {
			b := bucket(name, l.With(core.SlidingLog))
			admitted := h.arrive(t, b, func(before []arrival) {
				used := int64(0)
				for _, a := range before {
					if h.Clock.Now().UnixMicro()-a.at.UnixMicro() < l.Period.Microseconds() {
						used += a.units
					}
				}
				equal(t, "left", h.left(t, b), l.Quota-used)
			})
			if n := most(admitted, l.Period); n > l.Quota || n < l.Quota-2 {
				t.Errorf("%d admitted within a period, want about and at most %d", n, l.Quota)
			}
		}
	}),

	// Of the window before, a share f of which lies more than a period back, it counts 1-f. What is within
	// the period may be anything from none of its units to all: that is the error, and half a unit. Where
	// all came at its end, as much as f of the quota comes on top: never twice the quota and more.
	"a sliding window is off by what the window before had unevenly": having(core.SlidingWindow, func(t *testing.T, h *harness) {
		l := core.PerMinute(20).With(core.SlidingWindow)
		b := bucket("b", l)
		admitted := h.arrive(t, b, func(before []arrival) {
			now := h.Clock.Now()
			start, _ := ledger.Window(l, now)
			gone := float64(now.Sub(start)) / float64(l.Period)
			last, within := int64(0), int64(0)
			for _, a := range before {
				if a.at.Before(start) && !a.at.Before(start.Add(-l.Period)) {
					last += a.units
				}
				if now.Sub(a.at) < l.Period {
					within += a.units
				}
			}
			over := float64(l.Quota - h.left(t, b) - within)
			if slack := 0.5 + 1e-4; over < -gone*float64(last)-slack || over > (1-gone)*float64(last)+slack {
				t.Errorf("counts %v more than came within a period, of %d in the window before of which %v lies back", over, last, gone)
			}
		})
		if n := most(admitted, l.Period); n > 2*l.Quota {
			t.Errorf("%d admitted within a period, want at most twice the quota", n)
		}
	}),

	"a refund reaches only the window or the entry that was charged": func(t *testing.T, h *harness) {
		for _, s := range samples {
			l := s.limit
			if !s.runs(h.Store) || l.Algorithm == core.TokenBucket || l.Algorithm == core.LeakyBucket {
				continue
			}
			b := bucket(s.name, l)
			_, end := ledger.Window(l, h.Clock.Now())
			h.Clock.Advance(end.Sub(h.Clock.Now()))
			out := h.take(t, costing(b, 2))
			h.Clock.Advance(40 * day)
			h.take(t, costing(b, 3))
			h.refund(t, []core.Bucket{costing(b, 2)}, out)
			equal(t, s.name+" left after a refund from long before", h.left(t, b), 2)
		}
	},

	"a refund from a log makes room when its own entry would have": having(core.SlidingLog, func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(3).With(core.SlidingLog))
		first := h.take(t, b)
		h.Clock.Advance(10 * time.Second)
		h.take(t, b)
		h.Clock.Advance(10 * time.Second)
		h.take(t, b)
		h.refund(t, []core.Bucket{b}, first)
		equal(t, "left", h.left(t, b), 1)
		equal(t, "the next unit is that of the second", h.peek(t, b)[0].ResetAfter, 50*time.Second)
	}),

	"a refund to a sliding window counts as far as the charge still does": having(core.SlidingWindow, func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(20).With(core.SlidingWindow))
		h.to(time.Minute)
		out := h.take(t, costing(b, 20))
		h.Clock.Advance(90 * time.Second) // half of it counts
		equal(t, "left before", h.left(t, b), 10)
		h.refund(t, []core.Bucket{costing(b, 10)}, out)
		equal(t, "left after", h.left(t, b), 15)
	}),
}
