package fallback

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// Debit charges the shared store, or the local half while it fails.
func (s *Store) Debit(ctx context.Context, buckets []core.Bucket) error {
	if len(buckets) == 0 {
		return nil
	}
	err := s.ask(buckets[0].Key, func() error { return s.shared.Debit(ctx, buckets) })
	if err == nil {
		return nil
	}
	return s.local.Debit(ctx, s.allScaled(buckets))
}

// Refund gives back where the charge was made. What the shared store cannot take back now stays
// spent there.
func (s *Store) Refund(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	var local, shared []core.Bucket
	var localOut, sharedOut []core.Outcome
	for i := range buckets {
		switch {
		case !out[i].Charged:
		case out[i].Source == core.FromLocal:
			local, localOut = append(local, s.scaled(&buckets[i])), append(localOut, out[i])
		default:
			shared, sharedOut = append(shared, buckets[i]), append(sharedOut, out[i])
		}
	}
	if len(local) > 0 {
		if err := s.local.Refund(ctx, local, localOut); err != nil {
			return err
		}
	}
	if len(shared) == 0 {
		return nil
	}
	return s.ask(shared[0].Key, func() error { return s.shared.Refund(ctx, shared, sharedOut) })
}

// Reset forgets the buckets in both halves. The error is the shared store's.
func (s *Store) Reset(ctx context.Context, buckets []core.Bucket) error {
	if len(buckets) == 0 {
		return nil
	}
	if err := s.local.Reset(ctx, s.allScaled(buckets)); err != nil {
		return err
	}
	return s.ask(buckets[0].Key, func() error { return s.shared.Reset(ctx, buckets) })
}

func (s *Store) allScaled(buckets []core.Bucket) []core.Bucket {
	scaled := make([]core.Bucket, len(buckets))
	for i := range buckets {
		scaled[i] = s.scaled(&buckets[i])
	}
	return scaled
}
