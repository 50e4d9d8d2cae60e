package fallback

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// strict is which buckets of a check are held to their whole limit in this process too. What the shared
// store, or the local half, has admitted is charged there as well, or refused: so that a shared store
// which has lost what it counted lets nobody have it twice from one replica.
type strict struct {
	at      []int
	buckets []core.Bucket
	out     []core.Outcome
}

func (c *check) strict() (st strict) {
	for i := range c.buckets {
		if c.buckets[i].Strict {
			st.at, st.buckets = append(st.at, i), append(st.buckets, c.buckets[i])
		}
	}
	st.out = make([]core.Outcome, len(st.at))
	return st
}

func hasStrict(buckets []core.Bucket) bool {
	for i := range buckets {
		if buckets[i].Strict {
			return true
		}
	}
	return false
}

// hold asks the whole limits in process about a request that is admitted so far.
func (c *check) hold(ctx context.Context) error {
	if !hasStrict(c.buckets) || c.refused() {
		return nil
	}
	st := c.strict()
	half := check{take: c.take, buckets: st.buckets, out: st.out}
	if err := half.ask(ctx, c.store.whole); err != nil {
		return err
	}
	if half.refused() && c.crowded(st) {
		return nil
	}
	if !half.refused() {
		for i, at := range st.at {
			o, whole := &c.out[at], &st.out[i]
			o.Held = whole.Receipt
			if whole.Remaining < o.Remaining {
				o.Remaining, o.ResetAfter = whole.Remaining, whole.ResetAfter
			}
		}
		return nil
	}
	if c.take {
		c.store.decided.Add(1)
		c.giveBackLocal(ctx)
		c.giveBack(ctx)
	}
	for i, at := range st.at {
		if !st.out[i].Admits {
			c.out[at] = st.out[i]
		}
	}
	return nil
}

// crowded reports whether the whole limits refuse for want of room alone, while the shared store has decided:
// a flood of keys must not keep everybody else out while that is well.
func (c *check) crowded(st strict) bool {
	for i, at := range st.at {
		if !st.out[i].Admits && (c.out[at].Source != core.FromShared || c.store.whole.Has(st.buckets[i])) {
			return false
		}
	}
	return true
}

// giveBackLocal undoes what the local half charged for a request that is refused after all.
func (c *check) giveBackLocal(ctx context.Context) {
	var charged []core.Bucket
	var out []core.Outcome
	for i := range c.buckets {
		if b, o := &c.buckets[i], &c.out[i]; o.Charged && !b.Shadow && o.Source == core.FromLocal {
			charged, out = append(charged, c.store.scaled(b)), append(out, *o)
			o.Charged = false
		}
	}
	_ = c.store.local.Refund(ctx, charged, out) // fails only when closed
}

// refundWhole gives back in process what Take charged there.
func (s *Store) refundWhole(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	var charged []core.Bucket
	var receipts []core.Outcome
	for i := range buckets {
		if o := &out[i]; buckets[i].Strict && o.Charged && o.Held != (core.Receipt{}) {
			charged, receipts = append(charged, buckets[i]), append(receipts, core.Outcome{Charged: true, Receipt: o.Held})
		}
	}
	if len(charged) == 0 {
		return nil
	}
	return s.whole.Refund(ctx, charged, receipts)
}

// strictOf are the buckets that are held in process too.
func strictOf(buckets []core.Bucket) (out []core.Bucket) {
	for i := range buckets {
		if buckets[i].Strict {
			out = append(out, buckets[i])
		}
	}
	return out
}
