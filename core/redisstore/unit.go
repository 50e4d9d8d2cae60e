package redisstore

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/counter"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// unit is one bucket of a call.
type unit struct {
	at     int    // which bucket of the check it is
	key    string // without the store's prefix
	rate   tokenbucket.Rate
	cost   int64 // ticks
	shadow bool
	leaky  bool
	wide   *wide        // nil: the rate and the debt are all there is
	ends   core.Receipt // refund only: of the charge
	debt   int64        // the answer: ticks, before the charge
	hash   uint64       // for the denials
	epoch  uint32
}

// wide is what a unit has more where its bucket is more than an instant.
type wide struct {
	counter.Counter

	limit core.Limit
	cost  int64 // units
	now   int64 // of the answer, in nanoseconds
	state counter.State
	view  counter.View
	lacks time.Duration // until it has one unit
}

// newUnit makes a unit without a place in a check.
func newUnit(b *core.Bucket, now func() time.Time) (unit, error) {
	u := unit{key: b.Key, shadow: b.Shadow, leaky: b.Limit.Algorithm == core.LeakyBucket}
	if !counter.Plain(b.Limit) {
		if err := b.Limit.Validate(); err != nil {
			return unit{}, err
		}
		u.wide = &wide{Counter: counter.Of(b.Limit, now().UnixNano()), limit: b.Limit, cost: b.Cost}
		return u, nil
	}
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	u.rate, u.cost = rate, rate.Cost(b.Cost)
	return u, err
}

// quickest is the longest time to fill, in nanoseconds, whose instants the quick script is exact with.
const quickest = 9e15

// quick reports whether the quick script can take from the bucket.
func (u *unit) quick() bool {
	return u.wide == nil && u.rate.PerSec == int64(time.Second) && u.rate.Capacity < quickest && u.cost < quickest
}

// same reports whether another unit differs in nothing but its key.
func (u *unit) same(v *unit) bool {
	if u.shadow != v.shadow || u.leaky != v.leaky || u.cost != v.cost || u.rate != v.rate {
		return false
	}
	if u.wide == nil || v.wide == nil {
		return u.wide == v.wide
	}
	return u.wide.limit == v.wide.limit && u.wide.cost == v.wide.cost && u.wide.limit.Calendar() == core.NoCalendar
}

// decode reads what the script told of the bucket, and returns what is left of that.
func (u *unit) decode(now core.Receipt, numbers []int64) (rest []int64, ok bool) {
	if u.wide == nil {
		u.debt, rest, ok = u.rate.Told(numbers)
		return rest, ok
	}
	w := u.wide
	w.now = now[0]*int64(time.Second) + now[1]
	if w.state, rest, ok = w.Told(w.now, numbers); ok {
		w.view = w.Look(&w.state, w.now, w.cost)
		w.lacks = w.Look(&w.state, w.now, 1).Wait
	}
	return rest, ok
}

func (u *unit) admits() bool {
	if u.wide != nil {
		return u.wide.view.Admits
	}
	return u.rate.Admits(u.debt, u.cost)
}

// owes is how long from the answer on something is known to be missing: until the bucket is full, or,
// where it is more than an instant and was not charged, until it has one unit.
func (u *unit) owes(charged bool) time.Duration {
	switch {
	case u.wide != nil:
		return u.wide.lacks
	case charged:
		return u.rate.Duration(u.debt + u.cost)
	}
	return u.rate.Duration(u.debt)
}

// print is that of a limit by which something is remembered that is not true of another.
func (u *unit) print() uint64 {
	if u.wide == nil {
		return 0
	}
	return printOf(&u.wide.limit)
}

// outcome works out what the script did and what a client is told, by the same integers.
func (u *unit) outcome(now core.Receipt, charged bool) core.Outcome {
	o := core.Outcome{Source: core.FromShared, Admits: u.admits(), Charged: charged}
	if u.wide != nil {
		u.wide.outcome(&o)
		return o
	}
	debt := u.debt
	if u.leaky && o.Admits {
		o.Delay = u.rate.Duration(debt)
	}
	if o.Charged {
		debt += u.cost
		o.Receipt = after(now, u.rate, debt)
	}
	if !o.Admits {
		o.RetryAfter = u.rate.Wait(debt, u.cost)
	}
	o.Remaining, o.ResetAfter = u.rate.Remaining(debt), u.rate.Next(debt)
	return o
}

func (w *wide) outcome(o *core.Outcome) {
	view := w.view
	if o.Charged {
		o.Receipt = w.charge()
		view = w.Look(&w.state, w.now, w.cost)
	}
	if !o.Admits {
		o.RetryAfter = view.Retry()
	}
	o.Remaining, o.ResetAfter = view.Remaining, view.Next
}

// charge is called once: the state is then that after it.
func (w *wide) charge() core.Receipt { return w.Charge(&w.state, w.now, w.cost) }

// receipt is that of a charge.
func (u *unit) receipt(now core.Receipt) core.Receipt {
	if u.wide != nil {
		return u.wide.charge()
	}
	return after(now, u.rate, u.debt+u.cost)
}

// after is the instant that lies ticks after another, which is rounded down to a tick as the script does.
func after(at core.Receipt, r tokenbucket.Rate, ticks int64) core.Receipt {
	sec, ns := r.Split(ticks)
	sec, ns = at[0]+sec, at[1]-at[1]%(int64(time.Second)/r.PerSec)+ns
	return core.Receipt{sec + ns/int64(time.Second), ns % int64(time.Second)}
}
