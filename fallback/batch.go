package fallback

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// settleUntil is how long a charge is tried again. The shared store knows for longer that it has been made.
const settleUntil = core.SettleMemory / 3 * 2

// settlement is what is still to be charged in the shared store.
type settlement struct {
	mu      sync.Mutex
	batches []batch
	made    uint64 // batches so far, for their ids
}

// batch is some buckets of one node. It is charged once, however often that is tried.
type batch struct {
	id        string
	partition string
	owed      []core.Owed
	since     int64
}

// leaveOut drops buckets from what is to be charged.
func (t *settlement) leaveOut(keys map[string]bool) {
	if len(keys) == 0 {
		return
	}
	for i := range t.batches {
		t.batches[i].owed = slices.DeleteFunc(t.batches[i].owed, func(o core.Owed) bool { return keys[o.Bucket.Key] })
	}
	t.batches = slices.DeleteFunc(t.batches, func(b batch) bool { return len(b.owed) == 0 })
}

// charge has the shared store charge the batches, those of nodes that are out aside, but for the one that
// is just coming back. It ends at the first that fails for want of the store.
func (s *Store) charge(ctx context.Context, back *breaker, within time.Duration) error {
	s.settlement.mu.Lock()
	defer s.settlement.mu.Unlock()
	var failed error
	end := time.Now().Add(within)
	s.settlement.batches = slices.DeleteFunc(s.settlement.batches, func(t batch) bool {
		out := s.degraded(t.partition) && (back == nil || back.partition != t.partition)
		switch {
		case s.now()-t.since > int64(settleUntil):
			s.unsettled.Add(uint64(len(t.owed)))
			return true
		case failed != nil || out || ctx.Err() != nil || time.Now().After(end):
			return false
		}
		err := s.debit(ctx, t)
		switch {
		case err == nil:
			s.settled.Add(uint64(len(t.owed)))
		case s.settler != nil && core.FaultOf(err) != core.FaultRequest:
			failed = err
			return false
		default:
			s.unsettled.Add(uint64(len(t.owed)))
			s.warn(t.partition, "tierlimit: what was admitted in an outage could not be charged", append(node(t.partition), "buckets", len(t.owed), "err", err)...)
		}
		return true
	})
	return failed
}

// debit charges a batch. A store that cannot tell a repetition is asked once, in whole units.
func (s *Store) debit(ctx context.Context, t batch) error {
	if s.settler != nil {
		return s.settler.DebitOnce(ctx, t.id, t.owed)
	}
	buckets := make([]core.Bucket, len(t.owed))
	for i, owed := range t.owed {
		unit, _ := unitOf(&owed.Bucket.Limit)
		buckets[i] = owed.Bucket
		buckets[i].Cost = (int64(owed.Time)-1)/unit + 1
	}
	return s.shared.Debit(ctx, buckets)
}
