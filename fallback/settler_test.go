package fallback_test

import (
	"context"
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// settler is a fake that can be charged once. Its limits refill too slowly to be seen in a test.
type settler struct {
	*fake
	mu      sync.Mutex
	refuse  func(call int) (charge bool, err error) // nil: charges
	calls   int
	ids     map[string]bool
	charged int64         // units
	debited []core.Bucket // by Debit
}

func newSettler() *settler { return &settler{fake: newFake(), ids: map[string]bool{}} }

func (s *settler) Debit(ctx context.Context, b []core.Bucket) error {
	s.mu.Lock()
	s.debited = append(s.debited, b...)
	s.mu.Unlock()
	return s.fake.Debit(ctx, b)
}

// testified reports whether the fallback has left its witness here.
func (s *settler) testified() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.debited) > 0
}

func (s *settler) DebitOnce(ctx context.Context, id string, owed []core.Owed) error {
	if err := s.answer(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	charge, err := true, error(nil)
	if s.refuse != nil {
		charge, err = s.refuse(s.calls)
	}
	if !charge || s.ids[id] {
		return err
	}
	s.ids[id] = true
	for _, o := range owed {
		b, unit := o.Bucket, o.Bucket.Limit.Period/time.Duration(o.Bucket.Limit.Quota)
		b.Cost = int64((o.Time + unit/2) / unit)
		s.charged += b.Cost
		if failed := s.Store.Debit(ctx, []core.Bucket{b}); failed != nil {
			return failed
		}
	}
	return err
}

// seen is how much was charged in how many calls.
func (s *settler) seen() (units int64, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.charged, s.calls
}

func (s *settler) slowDown(by time.Duration) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.slow = by
}

// forget loses the fallback's witness, what has been charged once and what else there is.
func (s *settler) forget(buckets ...core.Bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.ids)
	for _, b := range append(s.debited, buckets...) {
		_ = s.Store.Reset(context.Background(), []core.Bucket{b})
	}
}

// left is what the shared store says is left of a bucket.
func (s *settler) left(b core.Bucket) int64 {
	out := make([]core.Outcome, 1)
	_ = s.Store.Peek(context.Background(), []core.Bucket{b}, out)
	return out[0].Remaining
}
