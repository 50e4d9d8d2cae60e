package storetest

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/ledger"
)

// rates are those at the edges of what numbers hold.
var rates = []core.Limit{
	core.Per(1, 30*day), core.Per(3, 7*time.Second), core.PerSecond(65_535), core.PerSecond(1_000_000),
	core.PerHour(1_000_000_000), core.Per(10, 100*time.Millisecond),
}

// counted are the ways to count a rate that a store has.
func (h *harness) counted(l core.Limit) (limits []core.Limit) {
	for _, burst := range []int64{1, 1_000_000_000} {
		limits = append(limits, l.WithBurst(burst), l.WithBurst(burst).With(core.LeakyBucket), l.WithBurst(burst).WithStart(0))
	}
	limits = append(limits, l.WithStep(l.Quota), l.WithStep(l.Quota).WithBurst(max(l.Quota, 1_000_000_000)))
	for _, a := range []core.Algorithm{core.FixedWindow, core.SlidingWindow, core.SlidingLog} {
		limits = append(limits, l.With(a))
	}
	out := limits[:0]
	for _, x := range limits {
		s := sample{limit: x, shaped: x.Step() > 0 || x.Start() < x.Capacity()}
		if s.runs(h.Store) && x.Validate() == nil {
			out = append(out, x)
		}
	}
	return out
}

var longTests = map[string]func(*testing.T, *harness){
	"no rate is off by more than a thousandth in the long run": func(t *testing.T, h *harness) {
		for _, l := range rates {
			for _, x := range h.counted(l) {
				h.greedy(t, x)
			}
		}
	},

	"after years everything counts as on the first day": func(t *testing.T, h *harness) {
		for _, idle := range []time.Duration{12 * time.Hour, 30 * day, 3650 * day} {
			for _, l := range rates {
				for _, x := range h.counted(l) {
					b := bucket("idle "+x.String(), x)
					h.debit(t, costing(b, 1<<62))
					equal(t, x.String()+": left when empty", h.left(t, b), 0)
					if least, wait := fills(x), h.peek(t, costing(b, x.Capacity()))[0].RetryAfter; float64(wait) < least {
						t.Errorf("%v: when empty it is to fill in %v, want at least %.0f ns", x, wait, least)
					}
					if err := h.Store.Reset(t.Context(), []core.Bucket{b}); err != nil {
						t.Fatal(err)
					}
					equal(t, x.String()+": left", h.take(t, costing(b, x.Capacity()))[0].Remaining, 0)
					equal(t, x.String()+": one more admitted", h.take(t, b)[0].Admits, false)
				}
			}
			h.Clock.Advance(idle)
		}
	},
}

// fills is the least that it can take to fill, in nanoseconds, up to what a duration holds.
func fills(l core.Limit) float64 {
	if l.Algorithm != core.TokenBucket && l.Algorithm != core.LeakyBucket {
		return 1
	}
	return min(float64(l.Capacity()-l.Step())/float64(l.Quota)*float64(l.Period)*0.999, 1<<62)
}

// greedy takes all there is, whenever there is some, and compares what came back from one such moment to
// another with what should have.
func (h *harness) greedy(t *testing.T, l core.Limit) {
	t.Helper()
	b := bucket("greedy "+l.String(), l)
	h.debit(t, costing(b, 1<<62))
	_, edge := ledger.Window(l, h.Clock.Now())
	h.Clock.Advance(edge.Sub(h.Clock.Now()))
	if l.Algorithm == core.TokenBucket || l.Algorithm == core.LeakyBucket {
		h.debit(t, costing(b, 1<<62))
	}
	first, few := h.Clock.Now(), l.Capacity() == 1 || l.Quota <= 10
	start, got := first, int64(0)
	for step := 1; step <= 17*6; step++ {
		next := first.Add(time.Duration(step/16)*l.Period + time.Duration(step%16)*l.Period/16)
		if step%16 == 15 { // as late as can be in a window
			next = first.Add(time.Duration(step/16+1)*l.Period - time.Microsecond)
		}
		wait := max(next.Sub(h.Clock.Now()), 0)
		if few {
			wait = h.peek(t, b)[0].RetryAfter
		}
		h.Clock.Advance(wait)
		if left := h.left(t, b); left > 0 && h.take(t, costing(b, left))[0].Charged {
			got += left
		}
		if step == 6 {
			start, got = h.Clock.Now(), 0
		}
	}
	passed := h.Clock.Now().Sub(start)
	want := new(big.Rat).Mul(big.NewRat(l.Quota, int64(l.Period)), new(big.Rat).SetInt64(int64(passed)))
	off := new(big.Rat).Sub(new(big.Rat).Quo(new(big.Rat).SetInt64(got), want), big.NewRat(1, 1))
	if off.Abs(off).Cmp(big.NewRat(1, 1000)) > 0 {
		t.Errorf("%v: %d units in %v, want %s: off by %s", l, got, passed, want.FloatString(3), fmt.Sprint(off.FloatString(6)))
	}
}
