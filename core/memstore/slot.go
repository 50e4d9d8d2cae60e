package memstore

import (
	"hash/maphash"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/counter"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// slot is one bucket of a request, as its shard had it when it was locked.
type slot struct {
	rate   tokenbucket.Rate
	hash   uint64
	shard  int
	turn   int   // the shard to lock when it is this slot's turn, which need not be its own
	at     int   // where its cell was; -1: it had none
	now    int64 // in the rate's ticks
	debt   int64 // in the rate's ticks
	cost   int64 // in the rate's ticks
	spill  bool  // there is no cell for it, nor room for one
	stale  bool  // what is stored is beyond the time to full, and must be rewritten
	admits bool
	paid   bool
	leaky  bool
	wide   *state // nil: the instant is all there is
}

// aim finds out what can be known of the bucket without a lock.
func (s *Store) aim(sl *slot, b *core.Bucket, now int64) error {
	sl.hash = maphash.String(s.seed, b.Key)
	sl.shard = int(sl.hash >> s.shift)
	if !counter.Plain(b.Limit) {
		if err := b.Limit.Validate(); err != nil {
			return &core.StoreError{Fault: core.FaultRequest, Err: err}
		}
		sl.wide = &state{Counter: counter.Of(b.Limit, s.epoch+now), cost: b.Cost}
		return nil
	}
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	if err != nil {
		return &core.StoreError{Fault: core.FaultRequest, Err: err}
	}
	sl.rate, sl.cost, sl.leaky = rate, rate.Cost(b.Cost), b.Limit.Algorithm == core.LeakyBucket
	return nil
}

// in reports whether the bucket has a place in its shard.
func (sl *slot) in(sh *shard) bool {
	if sl.wide != nil {
		_, ok := sh.wide.find(sl.hash)
		return ok
	}
	return sh.find(sl.hash) >= 0
}

// owe sets the debt from what is stored, which another limit may have written: debt is time.
func (sl *slot) owe(c *cell) {
	full := c.full
	if c.perSec() != sl.rate.PerSec {
		full = c.fullIn(&sl.rate)
	}
	sl.debt = max(full-sl.now, 0)
	sl.stale = sl.debt > sl.rate.Capacity
}

// judge forgives what is beyond the time to full, once, and says whether the rest leaves room
// for the cost.
func (sl *slot) judge() {
	if sl.wide != nil {
		sl.stale = sl.wide.judge(sl.now)
		sl.admits = sl.wide.view.Admits
		return
	}
	if sl.stale {
		sl.debt = sl.rate.Capacity
	}
	sl.admits = sl.rate.Admits(sl.debt, sl.cost)
}

// charge charges the bucket if it may be, and reports whether there is something to store: a
// forgiven debt is stored too.
func (sl *slot) charge(may bool) bool {
	if sl.paid = sl.admits && may; sl.paid && sl.wide != nil {
		sl.wide.charge(sl.now)
	} else if sl.paid {
		sl.debt += sl.cost
	}
	return sl.paid || sl.stale
}

// tell says what came of it, and what the bucket holds now.
func (sl *slot) tell(o *core.Outcome, deny bool) {
	*o = core.Outcome{}
	o.Source, o.Admits, o.Charged = core.FromLocal, sl.admits, sl.paid
	if sl.wide != nil {
		sl.wide.tell(o)
		sl.seal(o, deny)
		return
	}
	if !sl.admits {
		o.RetryAfter = sl.rate.Wait(sl.debt, sl.cost)
		if o.RetryAfter == 0 { // refused for lack of room, which may come any time
			o.RetryAfter = sl.rate.Duration(sl.rate.Unit)
		}
	}
	if sl.paid {
		o.Receipt[0] = sl.now + sl.debt
	}
	if sl.leaky && sl.admits {
		o.Delay = sl.delay()
	}
	o.Remaining, o.ResetAfter = sl.rate.Left(sl.debt)
	sl.seal(o, deny)
}

// delay is how long those take that were there before.
func (sl *slot) delay() time.Duration {
	if sl.paid {
		return sl.rate.Duration(sl.debt - sl.cost)
	}
	return sl.rate.Duration(sl.debt)
}

// seal says what is different about a bucket that others share.
func (sl *slot) seal(o *core.Outcome, deny bool) {
	if !sl.spill {
		return
	}
	if sl.paid {
		o.Receipt[1] = 1
	}
	if deny {
		o.Remaining, o.ResetAfter = 0, o.RetryAfter
	}
}
