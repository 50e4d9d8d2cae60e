package memstore

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// Debit charges the buckets whether they admit or not. An overflow bucket is left as it is: it is
// others' too.
func (s *Store) Debit(_ context.Context, buckets []core.Bucket) error {
	return s.change(buckets, func(_ int, sl slot) int64 {
		if sl.spill {
			return sl.debt
		}
		return sl.rate.Debit(sl.debt, sl.cost)
	})
}

// Refund gives back what was charged, as far as time has not: a charge ends at the instant in
// its receipt, and what lies between now and then is all of it that is left.
func (s *Store) Refund(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.change(buckets, func(i int, sl slot) int64 {
		o := &out[i]
		if !o.Charged || sl.spill != (o.Receipt[1] == 1) {
			return sl.debt // a charge on a bucket that has been dropped since has ended
		}
		left := max(o.Receipt[0]-sl.now, 0)
		return max(sl.debt-min(sl.cost, left), 0)
	})
}

// Reset forgets the buckets, an overflow bucket as little as Debit charges it.
func (s *Store) Reset(_ context.Context, buckets []core.Bucket) error {
	return s.change(buckets, func(_ int, sl slot) int64 {
		if sl.spill {
			return sl.debt
		}
		return 0
	})
}

// change sets each bucket's debt to what f makes of it.
func (s *Store) change(buckets []core.Bucket, f func(i int, sl slot) (debt int64)) error {
	var room [inline]slot
	slots := room[:min(len(buckets), inline)]
	if len(buckets) > inline {
		slots = make([]slot, len(buckets))
	}
	r := request{slots: slots, buckets: buckets}
	if err := s.begin(&r); err != nil {
		return err
	}
	for i := range slots {
		if debt := f(i, slots[i]); debt != slots[i].debt {
			slots[i].debt = debt
			s.write(&r, i)
		}
	}
	s.end(&r)
	return nil
}
