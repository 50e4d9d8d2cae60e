package redisstore

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// grant is a block of units of one bucket that Redis has charged at once, for this replica to
// spend. Instants are nanoseconds of the store's clock.
type grant struct {
	number  uint64 // among its lease's
	left    int64  // units not spent
	ends    int64  // when its units could be back in Redis: spent after that, they would come on top
	since   int64  // when the answer came, which is no earlier than Redis' decision
	debt    int64  // ticks that the bucket owed then, this charge included
	receipt core.Receipt
}

func (g *grant) holds(cost, now int64) bool { return g.left >= cost && now < g.ends }

// spend takes cost out of the grant and tells what a bucket would that still held what is left. Time
// pays for the units in the order in which they are spent, those that never are the last.
func (g *grant) spend(r tokenbucket.Rate, cost, now int64) core.Outcome {
	g.left -= cost
	// Time that found nothing to pay off cannot pay for this charge.
	debt := max(g.debt-r.Ticks(now-g.since)-r.Cost(g.left), r.Cost(cost))
	out := core.Outcome{Source: core.FromShared, Admits: true, Charged: true, Receipt: before(g.receipt, r, r.Cost(g.left))}
	out.Remaining, out.ResetAfter = r.Left(debt)
	return out
}

// before is the instant that lies ticks before another.
func before(at core.Receipt, r tokenbucket.Rate, ticks int64) core.Receipt {
	sec, ns := r.Split(ticks)
	sec, ns = at[0]-sec, at[1]-ns
	if ns < 0 {
		sec, ns = sec-1, ns+int64(time.Second)
	}
	return core.Receipt{sec, ns}
}

// unspent is the outcome of a charge that was taken back.
func unspent(out core.Outcome, cost, capacity int64) core.Outcome {
	out.Charged, out.Receipt = false, core.Receipt{}
	if out.Remaining = min(out.Remaining+cost, capacity); out.Remaining == capacity {
		out.ResetAfter = 0
	}
	return out
}

// spare is what goes back to Redis of a grant.
type spare struct {
	units   int64
	receipt core.Receipt
}

// rest is what is worth giving back: by the time that the bucket was to be full, time has.
func (g *grant) rest(r tokenbucket.Rate, now int64) spare {
	if r.Ticks(now-g.since) >= g.debt {
		return spare{}
	}
	return spare{g.left, g.receipt}
}
