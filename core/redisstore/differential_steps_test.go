package redisstore_test

import (
	"math/big"
	"slices"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// check is the next of a batch. A refund is of a take before this batch.
func (p *pair) check(takes bool) (c redisstore.Check, refund *charged) {
	ops := []string{"take", "take", "take", "take", "peek", "peek", "debit", "refund", "refund", "reset"}
	c.Op = ops[p.r.IntN(len(ops))]
	if c.Op == "reset" && p.r.IntN(3) > 0 || takes {
		c.Op = "take"
	}
	if c.Op == "refund" && len(p.paid) > 0 {
		refund = &p.paid[p.r.IntN(len(p.paid))]
		c.Buckets, c.Out = slices.Clone(refund.buckets), refund.redis
		for i := range c.Buckets {
			if b := &c.Buckets[i]; p.r.IntN(3) == 0 {
				b.Cost = 1 + p.r.Int64N(b.Cost)
			}
		}
		return c, refund
	}
	if c.Op == "refund" {
		c.Op = "take"
	}
	for _, k := range p.r.Perm(len(p.keys))[:1+p.r.IntN(min(len(p.keys), 3))] {
		c.Buckets = append(c.Buckets, p.bucket(k))
	}
	c.Out = make([]core.Outcome, len(c.Buckets))
	return c, nil
}

func (p *pair) bucket(k int) core.Bucket {
	l := p.limits[k][0]
	if p.r.IntN(12) == 0 {
		l = p.limits[k][p.r.IntN(len(p.limits[k]))]
	}
	b := core.Bucket{Key: p.keys[k], Limit: l, Level: "level", Cost: 1, Shadow: p.r.IntN(5) == 0}
	switch p.r.IntN(8) {
	case 0:
		b.Cost = 1 + p.r.Int64N(5)
	case 1:
		b.Cost = 1 + p.r.Int64N(l.Capacity())
	case 2:
		b.Cost = l.Capacity() + int64(p.r.IntN(2))
	case 3:
		if p.r.IntN(10) == 0 {
			b.Cost = 1 << 60
		}
	}
	return b
}

// gap is the time to the next batch: telling, or any. It never steps back: what says nothing any more
// may be forgotten or not, and then it would say something again.
func (p *pair) gap() time.Duration {
	l := p.limits[p.r.IntN(len(p.limits))][0]
	unit := time.Duration(unitOf(l))
	near := []time.Duration{-1000, -1, 0, 0, 1, 999, 1000}[p.r.IntN(7)]
	switch p.r.IntN(12) {
	case 0, 1:
		return 0
	case 2, 3:
		return max(p.wait+near, 0)
	case 4:
		return max(unit+near, 0)
	case 5:
		return time.Duration(p.r.Int64N(int64(min(unit, 1<<50)*4) + 1))
	case 6:
		fills := min(unit, 1<<44) * time.Duration(min(l.Capacity(), 1000))
		if l.Start() < l.Capacity() { // when it is new again, if it was empty
			fills = 2*fills + 10*time.Second
		}
		return max(fills+near, 0)
	case 7:
		left := l.Period - time.Duration((p.clock.Now().UnixNano()-int64(l.Offset()))%int64(l.Period))
		return max(min(left, 1<<55)+near, 0)
	case 8:
		return time.Duration(p.r.Int64N(1 << (1 + p.r.IntN(52))))
	case 9:
		if p.r.IntN(20) == 0 {
			return 3650 * 24 * time.Hour / 50
		}
	}
	return time.Duration(p.r.Int64N(int64(min(l.Period, 1<<50))))
}

// unitOf is the time of one unit, at most a year.
func unitOf(l core.Limit) int64 {
	unit := new(big.Int).Div(big.NewInt(int64(l.Period)), big.NewInt(l.Quota)).Int64()
	return min(unit+1, int64(365*24*time.Hour))
}
