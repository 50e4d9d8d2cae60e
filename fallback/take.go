package fallback

import (
	"context"
	"errors"

	"github.com/tierlimit/tierlimit/core"
)

var errDegraded = errors.New("fallback: the shared store is failing, its breaker is open")

// Take asks the shared store, or, when it fails or is failing, decides locally.
func (s *Store) Take(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	if len(buckets) == 0 {
		return nil
	}
	err := s.ask(buckets[0].Key, func() error { return s.shared.Take(ctx, buckets, out) })
	if err == nil {
		s.remember(ctx, buckets, out)
		return nil
	}
	if core.FaultOf(err) == core.FaultCaller {
		return err
	}
	s.decided.Add(1)
	return s.decide(ctx, buckets, out, err, s.local.Take)
}

// Peek asks as Take does and changes nothing.
func (s *Store) Peek(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	if len(buckets) == 0 {
		return nil
	}
	err := s.ask(buckets[0].Key, func() error { return s.shared.Peek(ctx, buckets, out) })
	if err == nil || core.FaultOf(err) == core.FaultCaller {
		return err
	}
	return s.decide(ctx, buckets, out, err, s.local.Peek)
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

// ask makes a call to the shared store unless its breaker is open.
func (s *Store) ask(key string, call func() error) error {
	b := s.breaker(s.shared.Partition(key))
	if b.degraded.Load() {
		return errDegraded
	}
	err := call()
	if !s.watched {
		b.record(err)
	}
	if err != nil {
		s.failed(err)
	}
	return err
}

// decide answers without the shared store: Local levels from the local half, the others with
// cause, for their OnFailure to judge. Where one of those will refuse, nothing is charged.
func (s *Store) decide(ctx context.Context, buckets []core.Bucket, out []core.Outcome, cause error, judge func(context.Context, []core.Bucket, []core.Outcome) error) error {
	mine := make([]core.Bucket, 0, len(buckets))
	for i := range buckets {
		switch b := &buckets[i]; {
		case b.OnFailure == core.Local:
			mine = append(mine, s.scaled(b))
		case !b.Shadow && (b.OnFailure == core.Closed || b.Cost > b.Limit.Capacity()):
			judge = s.local.Peek
		}
	}
	answers := make([]core.Outcome, len(mine))
	if err := judge(ctx, mine, answers); err != nil {
		return err
	}
	for i := range buckets {
		if buckets[i].OnFailure == core.Local {
			out[i], answers = answers[0], answers[1:]
		} else {
			out[i] = core.Outcome{Source: core.FromNothing, Err: cause}
		}
	}
	return nil
}
