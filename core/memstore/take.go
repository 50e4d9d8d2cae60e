package memstore

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// inline is how many buckets a request may have before it costs an allocation.
const inline = 8

// Take judges and charges the buckets as one step. It waits for nothing but other requests'
// arithmetic, so ctx is not looked at.
func (s *Store) Take(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.judge(buckets, out, true)
}

// Peek judges the buckets and changes nothing.
func (s *Store) Peek(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.judge(buckets, out, false)
}

func (s *Store) judge(buckets []core.Bucket, out []core.Outcome, charge bool) error {
	var room [inline]slot
	var ids [inline]int
	slots, h := append(room[:0], make([]slot, len(buckets))...), held{shards: ids[:0]}
	if err := s.begin(slots, &h, buckets); err != nil {
		return err
	}
	defer s.end(&h)
	admitted := true
	for i := range slots {
		slots[i].clamp()
		out[i] = core.Outcome{Source: core.FromLocal, Admits: s.admits(&slots[i], &buckets[i])}
		admitted = admitted && (out[i].Admits || buckets[i].Shadow)
	}
	for i := range slots {
		s.settle(&slots[i], &buckets[i], &out[i], charge, admitted)
	}
	return nil
}

func (s *Store) admits(sl *slot, b *core.Bucket) bool {
	if sl.spill {
		s.overflowed.Add(1)
		if s.deny {
			return false
		}
	}
	return sl.rate.Admits(sl.debt, sl.rate.Cost(b.Cost))
}

// settle charges what the request as a whole admits, and tells what the bucket then holds.
func (s *Store) settle(sl *slot, b *core.Bucket, o *core.Outcome, charge, admitted bool) {
	cost := sl.rate.Cost(b.Cost)
	if !o.Admits {
		o.RetryAfter = sl.rate.Wait(sl.debt, cost)
		if o.RetryAfter == 0 { // refused for lack of room, which may come any time
			o.RetryAfter = sl.rate.Duration(sl.rate.Unit)
		}
	}
	o.Charged = charge && o.Admits && (admitted || b.Shadow)
	if o.Charged {
		sl.debt += cost
		o.Receipt[0] = sl.now + sl.debt
		if sl.spill {
			o.Receipt[1] = 1
		}
	}
	if o.Charged || (charge && sl.stale) {
		s.write(sl, b)
	}
	o.Remaining, o.ResetAfter = sl.rate.Remaining(sl.debt), sl.rate.Next(sl.debt)
	if sl.spill && s.deny {
		o.Remaining, o.ResetAfter = 0, o.RetryAfter
	}
}
