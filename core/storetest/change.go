package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// changeTests: everything that moves a bucket beside Take.
var changeTests = map[string]func(*testing.T, *harness){
	"a peek tells what a take would and changes nothing": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(2))
		equal(t, "fresh", h.left(t, b), 2)
		h.take(t, b)
		for range 5 {
			o := h.peek(t, b)[0]
			if !o.Admits || o.Charged || o.Remaining != 1 {
				t.Errorf("peek: %s", show(o))
			}
		}
		h.take(t, b)
		equal(t, "peek at empty admits", h.peek(t, b)[0].Admits, false)
	},

	"a refund gives back the charge": func(t *testing.T, h *harness) {
		a, b := bucket("a", core.PerMinute(5)), bucket("b", core.PerHour(7))
		buckets := []core.Bucket{costing(a, 3), costing(b, 3)}
		out := h.take(t, buckets...)
		h.refund(t, buckets, out)
		equal(t, "a left", h.left(t, a), 5)
		equal(t, "b left", h.left(t, b), 7)
	},

	"a refund of part of it": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(10))
		out := h.take(t, costing(b, 6))
		h.refund(t, []core.Bucket{costing(b, 2)}, out)
		equal(t, "left", h.left(t, b), 6)
	},

	"a refund gives nothing that time gave already": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(6))
		out := h.take(t, costing(b, 2))
		h.Clock.Advance(15 * time.Second) // of the 20 s that the charge lasts
		h.refund(t, []core.Bucket{costing(b, 2)}, out)
		equal(t, "left", h.left(t, b), 6)
		h.spend(t, b, 6)
		h.Clock.Advance(time.Minute)
		h.spend(t, b, 4)
		h.refund(t, []core.Bucket{costing(b, 2)}, out)
		equal(t, "left after a refund of a charge long over", h.left(t, b), 2)
	},

	"a refund touches no other charge": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(6))
		out := h.take(t, b) // over in 10 s
		h.spend(t, b, 3)
		h.Clock.Advance(10 * time.Second)
		h.refund(t, []core.Bucket{b}, out)
		equal(t, "left", h.left(t, b), 3)
	},

	"a refund of what was not charged is nothing": func(t *testing.T, h *harness) {
		a, b := bucket("a", core.PerMinute(1)), bucket("b", core.PerMinute(5))
		h.take(t, a, b)
		out := h.take(t, a, b) // refused
		h.refund(t, []core.Bucket{a, b}, out)
		equal(t, "a left", h.left(t, a), 0)
		equal(t, "b left", h.left(t, b), 4)
	},

	"a debit charges what is not there, down to empty": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(6))
		h.debit(t, costing(b, 4))
		equal(t, "left", h.left(t, b), 2)
		h.debit(t, costing(b, 100))
		o := h.peek(t, b)[0]
		if o.Admits || o.Remaining != 0 || o.RetryAfter != 10*time.Second {
			t.Errorf("after too large a debit: %s", show(o))
		}
	},

	"a refund or debit under an older, smaller limit forgives nothing": func(t *testing.T, h *harness) {
		small, large := bucket("b", core.PerMinute(60).WithBurst(10)), bucket("b", core.PerMinute(60).WithBurst(1000))
		out := h.take(t, small)
		h.take(t, costing(large, 900))
		h.refund(t, []core.Bucket{small}, out)
		equal(t, "left after the refund", h.left(t, large), 100)
		h.debit(t, small)
		equal(t, "left after the debit", h.left(t, large), 100)
	},

	"a reset is as good as new": func(t *testing.T, h *harness) {
		a, b := bucket("a", core.PerMinute(2)), bucket("b", core.PerMinute(2))
		h.spend(t, a, 2)
		h.spend(t, b, 2)
		if err := h.Store.Reset(context.Background(), []core.Bucket{a}); err != nil {
			t.Fatal(err)
		}
		equal(t, "a left", h.left(t, a), 2)
		equal(t, "b left", h.left(t, b), 0)
	},

	"a higher rate helps at once": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(6))
		h.spend(t, b, 6)
		b.Limit = core.PerMinute(60)
		equal(t, "retry after", h.take(t, b)[0].RetryAfter, time.Second)
	},

	"a lower burst locks nobody out for longer than it takes to fill": func(t *testing.T, h *harness) {
		b := bucket("b", core.PerMinute(60).WithBurst(600))
		h.spend(t, b, 600)
		b.Limit = core.PerMinute(60).WithBurst(10)
		h.take(t, b)
		h.Clock.Advance(10 * time.Second)
		equal(t, "left after its time to full", h.left(t, b), 10)
		b.Limit = core.PerMinute(60).WithBurst(600)
		equal(t, "left after toggling back", h.left(t, b), 600)
	},
}

func (h *harness) refund(t *testing.T, buckets []core.Bucket, out []core.Outcome) {
	t.Helper()
	if err := h.Store.Refund(context.Background(), buckets, out); err != nil {
		t.Fatalf("Refund: %v", err)
	}
}

func (h *harness) debit(t *testing.T, buckets ...core.Bucket) {
	t.Helper()
	if err := h.Store.Debit(context.Background(), buckets); err != nil {
		t.Fatalf("Debit: %v", err)
	}
}
