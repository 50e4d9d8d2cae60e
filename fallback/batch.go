package fallback

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// settleUntil is how long a charge is tried again. The shared store knows for longer that it has been made.
const settleUntil = core.SettleMemory / 3 * 2

// settlement is what is still to be charged in the shared store.
type settlement struct {
	mu    sync.Mutex
	nodes map[string]*queue // by partition
	made  uint64            // batches so far, for their ids
}

// queue is what is still to be charged at one node, the oldest first. Nobody waits for another node's.
type queue struct {
	busy    sync.Mutex // of whoever charges: only then a batch is taken out
	batches []batch    // guarded by the settlement's mu
}

// batch is some buckets of one node. It is charged once, however often that is tried.
type batch struct {
	id        string
	partition string
	owed      []core.Owed
	since     int64
}

// queue is that of a node.
func (t *settlement) queue(partition string) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(partition)
}

func (t *settlement) of(partition string) *queue {
	q := t.nodes[partition]
	if q == nil {
		if t.nodes == nil {
			t.nodes = map[string]*queue{}
		}
		q = &queue{}
		t.nodes[partition] = q
	}
	return q
}

// all are the queues in which something is.
func (t *settlement) all() (some []*queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.nodes {
		if len(q.batches) > 0 {
			some = append(some, q)
		}
	}
	return some
}

// add has a node's buckets charged, in batches whose ids begin so.
func (t *settlement) add(begin, partition string, owed []core.Owed, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.of(partition)
	for part := range slices.Chunk(owed, mostInBatch) {
		t.made++
		q.batches = append(q.batches, batch{begin + ":" + strconv.FormatUint(t.made, 36), partition, part, now})
	}
}

// leaveOut drops buckets from a queue that the caller keeps busy.
func (t *settlement) leaveOut(q *queue, keys map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range q.batches {
		q.batches[i].owed = slices.DeleteFunc(q.batches[i].owed, func(o core.Owed) bool { return keys[o.Bucket.Key] })
	}
	q.batches = slices.DeleteFunc(q.batches, func(b batch) bool { return len(b.owed) == 0 })
}

// first is what is next in a queue.
func (t *settlement) first(q *queue) (b batch, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(q.batches) == 0 {
		return batch{}, false
	}
	return q.batches[0], true
}

func (t *settlement) done(q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q.batches[0] = batch{} // the slice holds it no more
	q.batches = q.batches[1:]
}

// charge has the shared store charge what is in a queue that the caller keeps busy, unless the node is out; back
// says that it is just coming back. It ends at the first batch that fails for want of the store.
func (s *Store) charge(ctx context.Context, q *queue, back bool, within time.Duration) error {
	for end := time.Now().Add(within); ctx.Err() == nil && time.Now().Before(end); {
		t, ok := s.settlement.first(q)
		if !ok {
			return nil
		}
		if s.now()-t.since > int64(settleUntil) {
			s.unsettled.Add(uint64(len(t.owed)))
			s.settlement.done(q)
			continue
		}
		if s.degraded(t.partition) && !back {
			return nil
		}
		err := s.debit(ctx, t)
		switch {
		case err == nil:
			s.settled.Add(uint64(len(t.owed)))
		case s.settler != nil && core.FaultOf(err) != core.FaultRequest:
			return err
		default:
			s.unsettled.Add(uint64(len(t.owed)))
			s.warn(t.partition, "tierlimit: what was admitted in an outage could not be charged", append(node(t.partition), "buckets", len(t.owed), "err", err)...)
		}
		s.settlement.done(q)
	}
	return nil
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
