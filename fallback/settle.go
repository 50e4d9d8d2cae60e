package fallback

import (
	"context"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const (
	// mostInBatch is how many buckets are charged in one step: as many as lie some at each hash tag of a
	// Cluster's node, for which it takes a call each.
	mostInBatch = 1000
	// settleWithin is how long a breaker waits for that; what is left is charged after it has closed.
	settleWithin = 500 * time.Millisecond
)

// readmit readies a node that answers again for requests: it is charged what was admitted without it.
// An error means that it had better not be asked yet.
func (s *Store) readmit(ctx context.Context, b *breaker) error {
	q := s.settlement.queue(b.partition)
	q.busy.Lock()
	defer q.busy.Unlock()
	lost, err := s.lost(ctx, &b.witness)
	if err != nil {
		return err
	}
	s.draw(b, lost, false)
	if err := s.charge(ctx, q, true, settleWithin); err != nil {
		return err
	}
	s.handOver(b)
	return nil
}

// recovered charges what was too much for readmit, and then what came in while the breaker closed. Until the first is
// done, the buckets stay in the ledger, and so are held to this replica's share.
func (s *Store) recovered(ctx context.Context, b *breaker) {
	s.testify(ctx, b)
	select {
	case <-ctx.Done():
		return
	case <-time.After(settleWithin / 50):
	}
	s.chargeLeft(ctx, b)
	if b.degraded.Load() {
		return
	}
	s.draw(b, false, true)
	s.chargeLeft(ctx, b)
	s.retry(ctx)
}

func (s *Store) chargeLeft(ctx context.Context, b *breaker) {
	q := s.settlement.queue(b.partition)
	q.busy.Lock()
	defer q.busy.Unlock()
	_ = s.charge(ctx, q, false, time.Minute)
}

// retry charges what is left at nodes that are well and that nobody else is charging.
func (s *Store) retry(ctx context.Context) {
	for _, q := range s.settlement.all() {
		if q.busy.TryLock() {
			_ = s.charge(ctx, q, false, settleWithin)
			q.busy.Unlock()
		}
	}
}

// draw works out what the buckets owe that were decided locally for want of this node. They may have moved to
// another since: if that is out, they are left to it. A node that has lost its memory is owed what it knew, too: in
// that is what of these buckets has been drawn before and not been charged. Whoever says lost keeps the queue busy.
func (s *Store) draw(b *breaker, lost, final bool) {
	nodes, whole := map[string][]core.Owed{}, map[string]bool{}
	s.ledger.each(func(e *owing) (drop bool) {
		p := s.shared.Partition(e.bucket.Key)
		if p != b.partition && e.node != b.partition {
			return false
		}
		if p != b.partition && s.degraded(p) {
			e.node = p
			return false
		}
		owed, told := s.admitted(e, lost)
		if lost && told {
			whole[e.bucket.Key] = true
		}
		if owed.Time > 0 {
			nodes[p] = append(nodes[p], owed)
		}
		return final
	})
	if lost {
		s.settlement.leaveOut(s.settlement.queue(b.partition), whole)
	}
	for p, owed := range nodes {
		s.settlement.add(s.id, p, owed, s.now())
	}
}

// admitted is what a bucket owes beyond what it owed before the outage, in the time of the shared limit;
// all that it owes if that was lost. From now on it counts as owed before. Less than half a unit is
// nothing: two clocks are read, one after the other. Of some buckets it cannot be told.
func (s *Store) admitted(e *owing, lost bool) (owed core.Owed, told bool) {
	local, out, now := s.scaled(&e.bucket), make([]core.Outcome, 1), s.now()
	if !s.local.Has(local) {
		return core.Owed{}, false // what it was admitted is in a bucket that it shares
	}
	if s.local.Peek(context.Background(), []core.Bucket{local}, out) != nil {
		return core.Owed{}, false
	}
	debt, _ := owes(&local.Limit, &out[0])
	full := now + debt
	if !lost {
		debt -= max(e.base-now, 0)
	}
	unit, ok := unitOf(&local.Limit)
	if !ok || debt < (unit+1)/2 {
		return core.Owed{}, true
	}
	e.base = full
	return core.Owed{Bucket: e.bucket, Time: sharedTime(&local.Limit, &e.bucket.Limit, debt)}, true
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
