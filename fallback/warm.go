package fallback

import (
	"context"
	"errors"

	"github.com/tierlimit/tierlimit/core"
)

// prepare readies a local bucket for a decision of its own: it holds no more than this replica's
// share of what the shared store last said was left. While the node is out, that is noted, once
// for each bucket, as what it began with.
func (s *Store) prepare(b, local *core.Bucket, why error) {
	if b.Limit.Ban() != (core.Ban{}) {
		return // what is left of it is no units
	}
	if b.Limit.Algorithm == core.TokenBucket && !b.Limit.Shaped() && errors.Is(why, errDegraded) {
		s.ledger.enter(b, func() (string, int64) { return s.shared.Partition(b.Key), s.warm(b, local) })
		return
	}
	s.warm(b, local)
}

// warm takes from the local bucket what it holds too much, and tells when it will be full. It never
// adds to it: what was spent here in an earlier outage is still spent.
func (s *Store) warm(b, local *core.Bucket) (full int64) {
	ctx, now := context.Background(), s.now()
	buckets, out := []core.Bucket{*local}, make([]core.Outcome, 1)
	if s.local.Peek(ctx, buckets, out) != nil {
		return now // closed
	}
	if at, ok := s.known.recall(b.Key, now); ok {
		unit, _ := unitOf(&b.Limit)
		left := max(b.Limit.Capacity()*unit-(at-now), 0) / unit
		if over := out[0].Remaining - partOf(left, s.portion.share()); over > 0 {
			buckets[0].Cost = over
			_ = s.local.Debit(ctx, buckets)
			_ = s.local.Peek(ctx, buckets, out)
		}
	}
	debt, _ := owes(&local.Limit, &out[0])
	return now + debt
}
