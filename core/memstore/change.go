package memstore

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// change is what is done to a bucket whether it admits or not.
type change uint8

const (
	debit change = iota
	refund
	reset
)

// Debit charges the buckets whether they admit or not. An overflow bucket is left as it is: it is
// others' too.
func (s *Store) Debit(_ context.Context, buckets []core.Bucket) error {
	return s.change(debit, buckets, nil)
}

// Refund gives back what was charged, as far as time has not: a charge ends at the instant in
// its receipt, and what lies between now and then is all of it that is left.
func (s *Store) Refund(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.change(refund, buckets, out)
}

// Reset forgets the buckets, an overflow bucket as little as Debit charges it.
func (s *Store) Reset(_ context.Context, buckets []core.Bucket) error {
	return s.change(reset, buckets, nil)
}

func (s *Store) change(c change, buckets []core.Bucket, out []core.Outcome) error {
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
		sl, receipt := &slots[i], core.Receipt{}
		if c == refund {
			// A charge on a bucket that has been dropped since has ended.
			if receipt = out[i].Receipt; !out[i].Charged || sl.spill != (receipt[1] == 1) {
				continue
			}
		} else if sl.spill {
			continue
		}
		if sl.change(c, receipt) {
			s.write(&r, i)
		}
	}
	s.end(&r)
	return nil
}

// change reports whether there is something to store.
func (sl *slot) change(c change, receipt core.Receipt) bool {
	if sl.wide != nil {
		sl.wide.change(c, sl.now, receipt)
		return true
	}
	debt := sl.debt
	switch c {
	case debit:
		sl.debt = sl.rate.Debit(debt, sl.cost)
	case refund:
		if sl.leaky && receipt[0] != sl.now+debt {
			break // another has been told to come after it
		}
		sl.debt = max(debt-min(sl.cost, max(receipt[0]-sl.now, 0)), 0)
	case reset:
		sl.debt = 0
	}
	return sl.debt != debt
}

func (st *state) change(c change, now int64, receipt core.Receipt) {
	switch c {
	case debit:
		st.Debit(&st.held, now, st.cost)
	case refund:
		st.Refund(&st.held, now, st.cost, receipt)
	case reset:
		st.Roll(&st.held, now)
		st.Reset(&st.held, now)
	}
}
