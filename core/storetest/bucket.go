package storetest

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// bucketTests: what one token bucket admits, and what it says.
var bucketTests = map[string]func(*testing.T, *harness){
	"starts full, and tells what is left and until when": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(3))
		for left := int64(2); left >= 0; left-- {
			o := h.take(t, b)[0]
			if o.Remaining != left || !o.Admits || o.RetryAfter != 0 || o.ResetAfter != 20*time.Second {
				t.Errorf("with %d left: %s", left, show(o))
			}
		}
		h.Clock.Advance(5 * time.Second)
		o := h.take(t, b)[0]
		if o.Admits || o.Remaining != 0 || o.RetryAfter != 15*time.Second || o.ResetAfter != 15*time.Second {
			t.Errorf("empty: %s", show(o))
		}
	},

	"waiting exactly as long as told is enough, and a nanosecond less is not": func(t *testing.T, h *harness) {
		b := bucket("b", core.Per(3, 7*time.Second))
		h.spend(t, b, 3)
		wait := h.take(t, b)[0].RetryAfter
		h.Clock.Advance(wait - 1)
		equal(t, "admitted too early", h.take(t, b)[0].Admits, false)
		h.Clock.Advance(1)
		equal(t, "admitted in time", h.take(t, b)[0].Admits, true)
		equal(t, "admitted twice", h.take(t, b)[0].Admits, false)
	},

	"a steady client at exactly the rate is never refused": func(t *testing.T, h *harness) {
		for key, step := range map[string]time.Duration{"slow": time.Second, "fast": 100 * time.Millisecond} {
			b := bucket(key, core.Per(1, step))
			for i := range 60 {
				if !h.take(t, b)[0].Admits {
					t.Fatalf("%s: refused at step %d", key, i)
				}
				h.Clock.Advance(step)
			}
		}
	},

	"refusals cost nothing": func(t *testing.T, h *harness) {
		b, admitted := bucket("b", core.Per(5, 10*time.Second)), 0
		for range 20 {
			admitted += h.spend(t, b, 1)
			h.Clock.Advance(time.Second)
		}
		equal(t, "admitted in 20 s", admitted, 14)
	},

	"capacity plus rate bounds any stretch of time": func(t *testing.T, h *harness) {
		b, admitted := bucket("b", core.PerSecond(3)), 0
		for range 100 {
			admitted += h.spend(t, b, 1)
			h.Clock.Advance(100 * time.Millisecond)
		}
		if admitted < 32 || admitted > 33 {
			t.Errorf("admitted %d in 10 s, want 32 or 33", admitted)
		}
	},

	"an idle client with debt comes back to what time has refilled": func(t *testing.T, h *harness) {
		b := bucket("b", core.Per(1, 15*time.Second).WithBurst(3))
		h.spend(t, b, 3)
		h.Clock.Advance(7 * time.Second)
		equal(t, "retry after at 7 s", h.take(t, b)[0].RetryAfter, 8*time.Second)
		h.Clock.Advance(8 * time.Second)
		o := h.take(t, b)[0]
		equal(t, "admitted at 15 s", o.Admits, true)
		equal(t, "remaining at 15 s", o.Remaining, 0)
	},

	"a cost is several units": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(10))
		equal(t, "remaining", h.take(t, costing(b, 7))[0].Remaining, 3)
		o := h.take(t, costing(b, 5))[0]
		if o.Admits || o.Remaining != 3 || o.RetryAfter != 12*time.Second || o.ResetAfter != 6*time.Second {
			t.Errorf("refused cost 5: %s", show(o))
		}
		equal(t, "the rest admitted", h.take(t, costing(b, 3))[0].Admits, true)
	},

	"burst is the capacity, quota the rate": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerSecond(2).WithBurst(10))
		equal(t, "at once", h.spend(t, b, 20), 10)
		h.Clock.Advance(time.Second)
		equal(t, "a second later", h.spend(t, b, 20), 2)
		h.Clock.Advance(time.Hour)
		equal(t, "after an hour", h.spend(t, b, 20), 10)
	},

	"a clock that steps back frees nobody and locks nobody out": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerSecond(10))
		h.spend(t, b, 10)
		h.Clock.Advance(-time.Hour)
		o := h.take(t, b)[0]
		equal(t, "admitted after the step", o.Admits, false)
		if o.RetryAfter <= 0 || o.RetryAfter > time.Second {
			t.Errorf("retry after the step is %v, want above 0 and at most the time to full", o.RetryAfter)
		}
		h.Clock.Advance(time.Second)
		equal(t, "admitted a second later", h.spend(t, b, 20), 10)
	},
}
