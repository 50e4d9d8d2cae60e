package fallback

import (
	"context"
	"errors"

	"github.com/tierlimit/tierlimit/core"
)

// Debit charges the shared store, or the local half where it fails.
func (s *Store) Debit(ctx context.Context, buckets []core.Bucket) error {
	var errs []error
	for _, g := range s.groups(buckets) {
		if err := s.reach(g.partition, func() error { return s.shared.Debit(ctx, g.buckets) }); err != nil {
			scaled := s.allScaled(g.buckets)
			for i := range scaled {
				s.prepare(&g.buckets[i], &scaled[i], err)
			}
			errs = append(errs, s.local.Debit(ctx, scaled))
		}
	}
	if held := strictOf(buckets); len(held) > 0 {
		errs = append(errs, s.whole.Debit(ctx, held))
	}
	return errors.Join(errs...)
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
	if err := s.refundWhole(ctx, buckets, out); err != nil {
		return err
	}
	if len(local) > 0 {
		if err := s.local.Refund(ctx, local, localOut); err != nil {
			return err
		}
	}
	var errs []error
	for _, g := range s.groups(shared) {
		errs = append(errs, s.reach(g.partition, func() error { return s.shared.Refund(ctx, g.buckets, g.pick(sharedOut)) }))
	}
	return errors.Join(errs...)
}

// Reset forgets the buckets in both halves. The error is the shared store's.
func (s *Store) Reset(ctx context.Context, buckets []core.Bucket) error {
	if len(buckets) == 0 {
		return nil
	}
	if err := s.local.Reset(ctx, s.allScaled(buckets)); err != nil {
		return err
	}
	if held := strictOf(buckets); len(held) > 0 {
		if err := s.whole.Reset(ctx, held); err != nil {
			return err
		}
	}
	for i := range buckets {
		s.ledger.forget(buckets[i].Key)
		s.known.note(buckets[i].Key, 0, s.now())
	}
	var errs []error
	for _, g := range s.groups(buckets) {
		errs = append(errs, s.reach(g.partition, func() error { return s.shared.Reset(ctx, g.buckets) }))
	}
	return errors.Join(errs...)
}

func (s *Store) allScaled(buckets []core.Bucket) []core.Bucket {
	scaled := make([]core.Bucket, len(buckets))
	for i := range buckets {
		scaled[i] = s.scaled(&buckets[i])
	}
	return scaled
}
