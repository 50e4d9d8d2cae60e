package fallback

import (
	"context"
	"errors"

	"github.com/tierlimit/tierlimit/core"
)

var errDegraded = errors.New("fallback: the shared store is failing, its breaker is open")

// Take asks the shared store, or, where that fails or is failing, decides locally.
func (s *Store) Take(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	if len(buckets) == 0 {
		return nil
	}
	c := check{store: s, take: true, buckets: buckets, out: out}
	return c.decide(ctx)
}

// Peek asks as Take does and changes nothing.
func (s *Store) Peek(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	if len(buckets) == 0 {
		return nil
	}
	c := check{store: s, buckets: buckets, out: out}
	return c.decide(ctx)
}

// remember empties the local buckets of what the shared store found empty. A client that has spent
// its limit there would else find it again here, and could bring that about: by keeping the
// service so busy that answers come late.
func (s *Store) remember(ctx context.Context, buckets []core.Bucket, out []core.Outcome) {
	for i := range buckets {
		if b := &buckets[i]; !out[i].Admits && out[i].Remaining == 0 && out[i].Source == core.FromShared && b.OnFailure == core.Local {
			local := s.scaled(b)
			local.Cost = local.Limit.Capacity()
			_ = s.local.Debit(ctx, []core.Bucket{local}) // fails only when closed
		}
	}
}
