package memstore

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// few and inline are how many buckets a request may have before it needs more of the stack, and
// before it costs an allocation.
const (
	few    = 3
	inline = 8
)

// Take judges and charges the buckets as one step. It waits for nothing but other requests'
// arithmetic, so ctx is not looked at.
func (s *Store) Take(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.judge(buckets, out, true)
}

// Peek judges the buckets and changes nothing.
func (s *Store) Peek(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.judge(buckets, out, false)
}

// judge finds the room to work in: what is set aside must be cleared first, so it is not set
// aside for many where there is one.
func (s *Store) judge(buckets []core.Bucket, out []core.Outcome, charge bool) error {
	switch n := len(buckets); {
	case n == 1:
		if done, err := s.one(&buckets[0], &out[0], charge); done {
			return err
		}
		fallthrough
	case n <= few:
		var slots [few]slot
		return s.settle(slots[:n], buckets, out, charge)
	case n <= inline:
		var slots [inline]slot
		return s.settle(slots[:n], buckets, out, charge)
	default:
		return s.settle(make([]slot, n), buckets, out, charge)
	}
}

// settle charges what the request as a whole admits. What can be told of it afterwards is told
// when others may go on.
func (s *Store) settle(slots []slot, buckets []core.Bucket, out []core.Outcome, charge bool) error {
	var r request
	r.slots, r.buckets = slots, buckets // a literal would be built elsewhere and copied
	if err := s.begin(&r); err != nil {
		return err
	}
	admitted := true
	for i := range slots {
		s.consider(&slots[i])
		admitted = admitted && (slots[i].admits || buckets[i].Shadow)
	}
	for i := range slots {
		if charge && slots[i].charge(admitted || buckets[i].Shadow) {
			s.write(&r, i)
		}
	}
	s.end(&r)
	for i := range slots {
		slots[i].tell(&out[i], s.deny)
	}
	return nil
}

func (s *Store) consider(sl *slot) {
	sl.judge()
	if sl.spill {
		s.overflow.met.Add(1)
		sl.admits = sl.admits && !s.deny
	}
}
