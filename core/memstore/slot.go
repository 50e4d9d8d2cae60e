package memstore

import (
	"hash/maphash"

	"github.com/tierlimit/tierlimit/core"
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
}

// aim finds out what can be known of the bucket without a lock.
func (s *Store) aim(sl *slot, b *core.Bucket) error {
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	if err != nil {
		return &core.StoreError{Fault: core.FaultRequest, Err: err}
	}
	sl.rate, sl.cost = rate, rate.Cost(b.Cost)
	sl.hash = maphash.String(s.seed, b.Key)
	sl.shard = int(sl.hash >> s.shift)
	return nil
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
	if sl.stale {
		sl.debt = sl.rate.Capacity
	}
	sl.admits = sl.rate.Admits(sl.debt, sl.cost)
}

// charge charges the bucket if it may be, and reports whether there is something to store: a
// forgiven debt is stored too.
func (sl *slot) charge(may bool) bool {
	if sl.paid = sl.admits && may; sl.paid {
		sl.debt += sl.cost
	}
	return sl.paid || sl.stale
}

// tell says what came of it, and what the bucket holds now.
func (sl *slot) tell(o *core.Outcome, deny bool) {
	*o = core.Outcome{}
	o.Source, o.Admits, o.Charged = core.FromLocal, sl.admits, sl.paid
	if !sl.admits {
		o.RetryAfter = sl.rate.Wait(sl.debt, sl.cost)
		if o.RetryAfter == 0 { // refused for lack of room, which may come any time
			o.RetryAfter = sl.rate.Duration(sl.rate.Unit)
		}
	}
	if sl.paid {
		o.Receipt[0] = sl.now + sl.debt
		if sl.spill {
			o.Receipt[1] = 1
		}
	}
	if sl.spill && deny {
		o.ResetAfter = o.RetryAfter
		return
	}
	o.Remaining, o.ResetAfter = sl.rate.Left(sl.debt)
}
