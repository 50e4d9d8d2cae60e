package fallback

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const (
	// mostInBatch is how many buckets are charged in one step.
	mostInBatch = 100
	// settleWithin is how long the breaker waits for that; what is left is charged after it has closed.
	settleWithin = 500 * time.Millisecond
)

// readmit readies a node that answers again for requests: it is charged what was admitted without it.
// An error means that it had better not be asked yet.
func (s *Store) readmit(ctx context.Context, b *breaker) error {
	lost, err := s.lost(ctx, &b.witness)
	if err != nil {
		return err
	}
	s.draw(b, lost, false)
	if err := s.charge(ctx, b, settleWithin); err != nil {
		return err
	}
	s.handOver(b)
	return nil
}

// recovered settles what came in while the breaker closed.
func (s *Store) recovered(ctx context.Context, b *breaker) {
	s.testify(ctx, b)
	select {
	case <-ctx.Done():
		return
	case <-time.After(settleWithin / 50):
	}
	if !b.degraded.Load() {
		s.draw(b, false, true)
		s.retry(ctx)
	}
}

// retry charges what is left.
func (s *Store) retry(ctx context.Context) { _ = s.charge(ctx, nil, time.Minute) }

// draw works out what the buckets of a node owe, and of those nodes that are well: a bucket may have
// moved to one. A node that has lost its memory is owed what it knew, too: in that is what of these buckets has
// been drawn before and not been charged.
func (s *Store) draw(b *breaker, lost, final bool) {
	s.settlement.mu.Lock()
	defer s.settlement.mu.Unlock()
	nodes, whole := map[string][]core.Owed{}, map[string]bool{}
	s.ledger.each(func(e *owing) (drop bool) {
		p := s.shared.Partition(e.bucket.Key)
		if p != b.partition && s.degraded(p) {
			return false
		}
		if lost {
			whole[e.bucket.Key] = true
		}
		if owed := s.admitted(e, lost); owed.Time > 0 {
			nodes[p] = append(nodes[p], owed)
		}
		return final
	})
	s.settlement.leaveOut(whole)
	for p, owed := range nodes {
		for part := range slices.Chunk(owed, mostInBatch) {
			s.settlement.made++
			id := s.id + ":" + strconv.FormatUint(s.settlement.made, 36)
			s.settlement.batches = append(s.settlement.batches, batch{id, p, part, s.now()})
		}
	}
}

// admitted is what a bucket owes beyond what it owed before the outage, in the time of the shared limit;
// all that it owes if that was lost. From now on it counts as owed before. Less than half a unit is
// nothing: two clocks are read, one after the other.
func (s *Store) admitted(e *owing, lost bool) core.Owed {
	local, out, now := s.scaled(&e.bucket), make([]core.Outcome, 1), s.now()
	if s.local.Peek(context.Background(), []core.Bucket{local}, out) != nil {
		return core.Owed{}
	}
	debt, _ := owes(&local.Limit, &out[0])
	full := now + debt
	if !lost {
		debt -= max(e.base-now, 0)
	}
	unit, ok := unitOf(&local.Limit)
	if !ok || debt < (unit+1)/2 {
		return core.Owed{}
	}
	e.base = full
	return core.Owed{Bucket: e.bucket, Time: sharedTime(&local.Limit, &e.bucket.Limit, debt)}
}

// tidy makes room for buckets that an outage touches by dropping those of which nothing is left to be
// charged.
func (s *Store) tidy() {
	if s.ledger.size.Load() < mostOwing/2 {
		return
	}
	s.ledger.each(func(e *owing) (drop bool) {
		local, out := s.scaled(&e.bucket), make([]core.Outcome, 1)
		err := s.local.Peek(context.Background(), []core.Bucket{local}, out)
		return err == nil && out[0].Remaining == local.Limit.Capacity()
	})
}
