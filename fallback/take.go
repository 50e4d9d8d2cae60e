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
	var err error
	if s.handingOver() {
		err = c.decideHeld(ctx)
	} else {
		err = c.decide(ctx)
	}
	if err != nil {
		return err
	}
	return c.hold(ctx)
}

// Peek asks as Take does and changes nothing.
func (s *Store) Peek(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	if len(buckets) == 0 {
		return nil
	}
	c := check{store: s, buckets: buckets, out: out}
	if err := c.decide(ctx); err != nil {
		return err
	}
	return c.hold(ctx)
}
