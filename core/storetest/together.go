package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// all is a bucket of each way to count that the store has.
func (h *harness) all(suffix string) (buckets []core.Bucket) {
	for _, s := range samples {
		if s.runs(h.Store) {
			buckets = append(buckets, bucket(s.name+suffix, s.limit))
		}
	}
	return buckets
}

// togetherTests: several algorithms in one request.
var togetherTests = map[string]func(*testing.T, *harness){
	"whichever algorithm refuses, none is charged": func(t *testing.T, h *harness) {
		h.Clock.Advance(12_345_678_901)
		buckets := h.all("")
		for i := range buckets {
			h.debit(t, costing(buckets[i], 100))
			for k, o := range h.take(t, buckets...) {
				equal(t, buckets[k].Level+" admits", o.Admits, k != i)
				equal(t, buckets[k].Level+" charged", o.Charged, false)
			}
			for k, b := range buckets {
				if left := h.left(t, b); k != i && left != b.Limit.Start() {
					t.Errorf("%d left of %s after %s refused, want %d", left, b.Level, buckets[i].Level, b.Limit.Start())
				}
			}
			buckets[i] = h.all("again")[i]
		}
	},

	"all algorithms charge, and give back, as one": func(t *testing.T, h *harness) {
		h.Clock.Advance(12_345_678_901)
		buckets := h.all("")
		for i := range buckets {
			buckets[i].Cost = 2
		}
		out := h.take(t, buckets...)
		for i, b := range buckets {
			equal(t, b.Level+" charged", out[i].Charged, true)
			equal(t, b.Level+" left", h.left(t, b), b.Limit.Start()-2)
		}
		h.refund(t, buckets, out)
		for _, b := range buckets {
			equal(t, b.Level+" left after the refund", h.left(t, b), b.Limit.Start())
		}
	},

	"a shadow of any algorithm is charged when it alone admits": func(t *testing.T, h *harness) {
		h.Clock.Advance(12_345_678_901)
		none := bucket("none", core.PerHour(1))
		h.take(t, none)
		buckets := h.all("")
		for i := range buckets {
			buckets[i].Shadow = true
		}
		for range 20 {
			out := h.take(t, append(slices.Clip(buckets), none)...)
			equal(t, "the request charged", out[len(buckets)].Charged, false)
		}
		for _, b := range buckets {
			equal(t, b.Level+" left", h.left(t, b), 0)
		}
	},

	"keys are apart": func(t *testing.T, h *harness) {
		h.Clock.Advance(time.Second)
		for _, b := range h.all("") {
			h.spend(t, b, 20)
		}
		for _, b := range h.all("of another") {
			equal(t, b.Level+" left", h.left(t, b), b.Limit.Start())
		}
	},
}
