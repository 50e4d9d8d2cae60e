package redisstore

import (
	"context"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// fetch asks Redis for a block of units, as a request of its own that nobody waits for.
type fetch struct {
	lease  *lease
	bucket core.Bucket // its cost is the block
	resets uint64      // of the lease, when it was decided
	asked  int64       // the store's clock, before
}

// wants is the block to ask for, now that a request of cost found too little; 0: none.
func (l *lease) wants(cost, now int64) (block int64, resets uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fetching || l.over || now < l.again {
		return 0, 0
	}
	block = l.block(l.late(now), float64(cost))
	l.fetching = block > 0
	return block, l.resets
}

// block is what is spent in leaseSpan. Of a limit far above what is spent, so few units would have
// refilled before: there it is as many as last for leaseUses. A block costs a call, so it has to
// save two before its time is over.
func (l *lease) block(late, cost float64) int64 {
	lasting := leaseUses * cost * float64(leaseSpan) / (late * float64(l.life(1)))
	block := int64(min(max(late, lasting), float64(l.most)))
	used := min(float64(block), late*float64(l.life(block))/float64(leaseSpan))
	if used < leastBlock*cost {
		return 0
	}
	return block
}

// life is how long the units take to refill. It is bounded so that a clock can be added.
func (l *lease) life(units int64) int64 {
	return min(int64(l.rate.Duration(l.rate.Cost(units))), 1<<61)
}

// fly runs in a goroutine of its own. It takes no longer than the budget.
func (f *fetch) fly(s *Store) {
	defer s.leases.fetches.Done()
	out := make([]core.Outcome, 1)
	f.asked = s.leases.now()
	err := s.do(context.Background(), opTake, []core.Bucket{f.bucket}, out)
	s.leases.giveBack(f.lease, f.land(err, &out[0], s.leases.now()))
}

// land makes a grant of the answer, and returns what is left of the one before.
func (f *fetch) land(err error, out *core.Outcome, now int64) spare {
	l, block := f.lease, f.bucket.Cost
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fetching = false
	switch {
	case err != nil:
		l.again = now + int64(leasePause)
	case !out.Charged:
		l.again = now + int64(leasePause)
		if block <= leastBlock {
			l.again = now + int64(min(max(out.RetryAfter, leasePause), leaseIdle))
		}
		l.most = max(block/2, leastBlock)
	case f.resets != l.resets || l.over:
		// Redis may have forgotten this charge: to give it back could give away another's. It
		// stays spent.
	default:
		return l.renew(f, out, now)
	}
	return spare{}
}

// renew replaces the present grant.
func (l *lease) renew(f *fetch, out *core.Outcome, now int64) spare {
	left := l.grant.rest(l.rate, now)
	l.granted++
	l.most = min(2*l.most, l.limit.Capacity()/leaseShare)
	l.grant = grant{
		number: l.granted, left: f.bucket.Cost, ends: f.asked + l.life(f.bucket.Cost), since: now,
		// The inverse of what a rate makes of a debt.
		debt:    l.rate.Cost(l.limit.Capacity()-out.Remaining-1) + l.rate.Ticks(int64(out.ResetAfter)),
		receipt: out.Receipt,
	}
	l.timer.Reset(l.patience(now))
	return left
}

// patience is how long there is nothing to do about a lease, unless it is spent.
func (l *lease) patience(now int64) time.Duration {
	wait := l.seen + int64(leaseIdle) - now
	if l.grant.left > 0 {
		wait = min(wait, l.grant.ends-now)
	}
	return max(time.Duration(wait), time.Millisecond)
}
