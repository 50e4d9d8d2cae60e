package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const errBudget = tooLate("redisstore: no answer within the budget")

// tooLate is an error that does not know the cause, as Timeout tells those who ask for it.
type tooLate string

func (e tooLate) Error() string { return string(e) }

// Timeout is as in net.Error.
func (tooLate) Timeout() bool { return true }

// Take judges and charges the buckets: in one script call, or one for each hash tag in a Cluster, but
// for those that a lease answers for.
func (s *Store) Take(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	for i := range buckets {
		if buckets[i].Lease {
			return s.takeLeased(ctx, buckets, out)
		}
	}
	return s.do(ctx, opTake, buckets, out)
}

// Peek judges the buckets and changes nothing.
func (s *Store) Peek(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.do(ctx, opPeek, buckets, out)
}

// Debit charges the buckets whether they admit or not.
func (s *Store) Debit(ctx context.Context, buckets []core.Bucket) error {
	return s.do(ctx, opDebit, buckets, nil)
}

// Refund gives back what Take charged, as far as time has not.
func (s *Store) Refund(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.do(ctx, opRefund, buckets, out)
}

// Reset forgets the buckets. Their leases are dropped before and after: what was granted in between
// may have been forgotten too.
func (s *Store) Reset(ctx context.Context, buckets []core.Bucket) error {
	s.leases.forget(buckets)
	defer s.leases.forget(buckets)
	return s.do(ctx, opReset, buckets, nil)
}

// do hands a check to the queue and waits for its answer: on a channel with a timer, never on
// the client, which may not come back for seconds.
func (s *Store) do(ctx context.Context, op operation, buckets []core.Bucket, out []core.Outcome) error {
	if s.closed.Load() {
		return core.ErrClosed
	}
	if ctx.Err() != nil {
		return gone(ctx)
	}
	if op == opTake && s.denials.refuses(buckets, out) {
		return nil
	}
	if s.cluster != nil {
		return s.cluster.do(ctx, op, buckets, out)
	}
	c, err := s.queue.newCall(op, buckets, out)
	if err != nil {
		return &core.StoreError{Fault: core.FaultRequest, Err: err}
	}
	if len(c.units) == 0 {
		s.queue.release(c)
		return nil
	}
	return s.await(ctx, &s.queue, c, out, s.budget)
}

// await is the way of one call through a queue.
func (s *Store) await(ctx context.Context, q *queue, c *call, out []core.Outcome, within time.Duration) error {
	s.denials.track(c)
	if err := q.join(c); err != nil {
		q.release(c)
		return err
	}
	c.timer.Reset(within)
	select {
	case <-c.done:
	case <-c.timer.C:
		if c.abandon() {
			return errBudget
		}
		<-c.done
	case <-ctx.Done():
		if c.abandon() {
			return gone(ctx)
		}
		<-c.done
	}
	c.timer.Stop()
	err := c.err
	if err == nil && c.op.judges() {
		s.denials.learn(c)
		c.outcomes(out, c.admitted())
	}
	q.release(c)
	return err
}

// later has a call of one bucket made that nobody waits for.
func (s *Store) later(c *call) {
	q := &s.queue
	if s.cluster != nil {
		c.tag = tagOf(c.units[0].key)
		q = &s.cluster.table.Load()[c.tag].queue // it is known, or there would be no charge to give back
	}
	q.add(c)
}

// gone tells that nobody waits for the answer any more, for whatever reason.
func gone(ctx context.Context) error {
	return &core.StoreError{Fault: core.FaultCaller, Err: fmt.Errorf("redisstore: caller gone: %w", context.Cause(ctx))}
}
