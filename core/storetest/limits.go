package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const day = 24 * time.Hour

// limitTests: limits at the edges of what numbers hold.
var limitTests = map[string]func(*testing.T, *harness){
	"extreme limits count exactly": func(t *testing.T, h *harness) {
		limits := []core.Limit{
			core.PerDay(1), core.Per(1, 30*day), core.Per(3, 7*time.Second), core.PerSecond(65_535),
			core.PerSecond(1_000_000), core.PerHour(1_000_000_000), core.Per(10, 100*time.Millisecond),
		}
		for i, l := range limits {
			for _, burst := range []int64{1, 1_000_000_000} {
				t.Run(fmt.Sprint(l, " burst ", burst), func(t *testing.T) {
					b := bucket(fmt.Sprintf("b%d-%d", i, burst), l.WithBurst(burst))
					o := h.take(t, b)[0]
					equal(t, "first admitted", o.Admits, true)
					equal(t, "first remaining", o.Remaining, burst-1)
					o = h.take(t, b)[0]
					equal(t, "second admitted", o.Admits, burst > 1)
					equal(t, "second remaining", o.Remaining, max(burst-2, 0))
					if burst > 1 {
						equal(t, "all of the rest admitted", h.take(t, costing(b, burst-2))[0].Admits, true)
						equal(t, "one more admitted", h.take(t, b)[0].Admits, false)
					}
				})
			}
		}
	},

	"idle for years": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerSecond(10))
		for _, idle := range []time.Duration{12 * time.Hour, 30 * day, 3650 * day} {
			equal(t, "admitted", h.spend(t, b, 20), 10)
			h.Clock.Advance(idle)
		}
		equal(t, "left", h.left(t, b), 10)
	},

	"ten thousand a second, a hundred microseconds apart": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerSecond(10_000).WithBurst(1))
		for i := range 500 {
			if !h.take(t, b)[0].Admits {
				t.Fatalf("refused at step %d", i)
			}
			h.Clock.Advance(100 * time.Microsecond)
		}
		admitted := 0
		for range 500 {
			admitted += h.spend(t, b, 1)
			h.Clock.Advance(50 * time.Microsecond)
		}
		equal(t, "admitted at twice the rate", admitted, 250)
	},
}
