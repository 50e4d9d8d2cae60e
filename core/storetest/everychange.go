package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/ledger"
)

// everyChangeTests: what else moves a bucket of any algorithm.
var everyChangeTests = map[string]func(*testing.T, *harness){
	"a refund gives back, wholly or in part": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b, twin := named("b"), named("twin")
		for _, x := range []core.Bucket{b, twin} {
			h.take(t, x)
		}
		out := h.take(t, costing(b, 3))
		h.refund(t, []core.Bucket{costing(b, 2)}, out)
		equal(t, "left", h.left(t, b), l.Start()-2)
		h.take(t, twin)
		h.same(t, b, twin)
	}),

	"a refund long after gives nothing": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b, twin := named("b"), named("twin")
		out := h.take(t, costing(b, 2))
		h.take(t, costing(twin, 2))
		h.Clock.Advance(62 * day)
		for _, x := range []core.Bucket{b, twin} {
			h.debit(t, x) // a charge that no refund of another may touch
		}
		h.refund(t, []core.Bucket{costing(b, 2)}, out)
		h.same(t, b, twin)
	}),

	"a debit charges what is not there, down to empty": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b, twin := named("b"), named("twin")
		h.debit(t, costing(b, 2))
		equal(t, "left", h.left(t, b), l.Start()-2)
		for _, cost := range []int64{100, 1, 1 << 62} {
			h.debit(t, costing(b, cost))
			equal(t, fmt.Sprint("left after ", cost), h.left(t, b), 0)
		}
		h.spend(t, twin, 20)
		h.same(t, b, twin)
	}),

	"an idle bucket is full again, however long": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b := named("b")
		for _, idle := range []time.Duration{12 * time.Hour, 30 * day, 3650 * day} {
			h.spend(t, b, 20)
			h.Clock.Advance(idle)
			if left := h.left(t, b); left != l.Capacity() && left != l.Start() && l.Period < idle {
				t.Errorf("%d left after %v, want all", left, idle)
			}
		}
	}),

	"a clock that steps back locks nobody out for longer than it takes to fill": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b := named("b")
		h.spend(t, b, 20)
		h.Clock.Advance(-time.Hour)
		o := h.take(t, b)[0]
		if l.Calendar() == core.NoCalendar && o.RetryAfter > 2*l.Period {
			t.Errorf("after the step: %s", show(o))
		}
		h.Clock.Advance(o.RetryAfter)
		equal(t, "admitted after waiting as told", h.take(t, b)[0].Admits, true)
		h.Clock.Advance(max(0, time.Hour-o.RetryAfter))
	}),

	"a higher limit helps at once, a lower one locks nobody out": each(func(t *testing.T, h *harness, l core.Limit, named func(string) core.Bucket) {
		b := named("b")
		wide := l
		if l.Step() == 0 { // a step or an interval more would be another bucket
			wide.Quota *= 10
		}
		if l.Burst > 0 || l.Algorithm == core.LeakyBucket || l.Algorithm == core.TokenBucket {
			wide = wide.WithBurst(l.Capacity() * 10)
		}
		h.spend(t, b, 20)
		wait := h.peek(t, b)[0].RetryAfter
		b.Limit = wide
		if o := h.peek(t, b)[0]; !o.Admits && o.RetryAfter >= wait {
			t.Errorf("with a higher limit: %s, before it was to wait %v", show(o), wait)
		}
		h.debit(t, costing(b, 1000))
		b.Limit = l
		if h.take(t, b)[0].Source == core.FromCache { // nothing was judged
			h.Clock.Advance(1100 * time.Millisecond)
			h.take(t, b)
		}
		b.Limit = wide
		left := h.left(t, b)
		b.Limit = l
		equal(t, "admitted after toggling", h.take(t, b)[0].Admits, false)
		most := time.Duration(l.Capacity()) * ledger.UnitTime(l)
		if l.Algorithm == core.SlidingWindow {
			most = 2 * l.Period
		}
		if l.Step() > 0 {
			most = time.Duration((l.Capacity()+l.Step()-1)/l.Step()) * l.Interval()
		}
		if l.Calendar() != core.NoCalendar {
			most = 31 * day
		}
		h.Clock.Advance(most)
		equal(t, fmt.Sprint("left after its time to full, with ", left, " under the higher limit before"), h.left(t, b), l.Capacity())
	}),
}
