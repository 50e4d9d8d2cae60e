package adaptertest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// scripted is a store that says what the case wants: failures and delays come when they are due,
// and what is given back is counted.
type scripted struct {
	local   bool // it claims to answer by itself
	take    func(context.Context, []core.Outcome) error
	refunds atomic.Int64
}

var errScripted = &core.StoreError{Fault: core.FaultStore, Err: errors.New("scripted: no answer")}

// broken never answers.
func broken() *scripted {
	return &scripted{take: func(context.Context, []core.Outcome) error { return errScripted }}
}

// delaying admits everything after a delay.
func delaying(delay time.Duration) *scripted {
	return &scripted{local: true, take: func(_ context.Context, out []core.Outcome) error {
		for i := range out {
			out[i] = core.Outcome{Admits: true, Charged: true, Remaining: 5, ResetAfter: time.Second, Delay: delay, Source: core.FromShared}
		}
		return nil
	}}
}

func (s *scripted) Take(ctx context.Context, _ []core.Bucket, out []core.Outcome) error {
	return s.take(ctx, out)
}

func (s *scripted) Peek(ctx context.Context, _ []core.Bucket, out []core.Outcome) error {
	return s.take(ctx, out)
}

func (s *scripted) Refund(context.Context, []core.Bucket, []core.Outcome) error {
	s.refunds.Add(1)
	return nil
}

func (s *scripted) Debit(context.Context, []core.Bucket) error { return nil }
func (s *scripted) Reset(context.Context, []core.Bucket) error { return nil }
func (s *scripted) Partition(string) string                    { return "" }
func (s *scripted) Close() error                               { return nil }

func (s *scripted) Traits() core.Traits {
	return core.Traits{Algorithms: []core.Algorithm{core.TokenBucket}, Local: s.local}
}
