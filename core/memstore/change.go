package memstore

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// Debit charges the buckets whether they admit or not. An overflow bucket is left as it is: it is
// others' too.
func (s *Store) Debit(_ context.Context, buckets []core.Bucket) error {
	return s.change(buckets, func(i int, sl *slot) {
		if !sl.spill {
			sl.debt = sl.rate.Debit(sl.debt, sl.rate.Cost(buckets[i].Cost))
		}
	})
}

// Refund gives back what was charged, as far as time has not: a charge ends at the instant in
// its receipt, and what lies between now and then is all of it that is left.
func (s *Store) Refund(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.change(buckets, func(i int, sl *slot) {
		o := &out[i]
		if !o.Charged || sl.spill != (o.Receipt[1] == 1) {
			return // a charge on a bucket that has been dropped since has ended
		}
		left := max(o.Receipt[0]-sl.now, 0)
		sl.debt = max(sl.debt-min(sl.rate.Cost(buckets[i].Cost), left), 0)
	})
}

// Reset forgets the buckets, an overflow bucket as little as Debit charges it.
func (s *Store) Reset(_ context.Context, buckets []core.Bucket) error {
	return s.change(buckets, func(_ int, sl *slot) {
		if !sl.spill {
			sl.debt = 0
		}
	})
}

func (s *Store) change(buckets []core.Bucket, f func(i int, sl *slot)) error {
	h, slots := held{}, make([]slot, len(buckets))
	if err := s.begin(slots, &h, buckets); err != nil {
		return err
	}
	defer s.end(&h)
	for i := range slots {
		before := slots[i].debt
		if f(i, &slots[i]); slots[i].debt != before {
			s.write(&slots[i], &buckets[i])
		}
	}
	return nil
}
