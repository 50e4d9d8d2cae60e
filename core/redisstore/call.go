package redisstore

import (
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

type operation string

const (
	opTake   operation = "take"
	opPeek   operation = "peek"
	opDebit  operation = "debit"
	opRefund operation = "refund"
	opReset  operation = "reset"
)

// judges reports whether the operation is answered with what each bucket owes.
func (o operation) judges() bool { return o == opTake || o == opPeek }

// call is one check on its way to Redis. It owns all it needs, since its caller may leave. It
// is released by the caller that got the answer, else by the flight that found no caller.
type call struct {
	op    operation
	units []unit
	tag   uint8 // of its keys, in a Cluster
	state atomic.Int32
	done  chan struct{} // sent to when the answer is set and the caller is still there
	timer *time.Timer   // the caller's

	now   core.Receipt // Redis' clock at the decision
	since int64        // the denials' clock before that
	err   error

	room [4]unit
}

// The states of a call: waiting becomes answered or abandoned, once.
const (
	waiting = iota
	answered
	abandoned
)

// unit is one bucket of a call.
type unit struct {
	at     int    // which bucket of the check it is
	key    string // without the store's prefix
	rate   tokenbucket.Rate
	cost   int64 // ticks
	shadow bool
	ends   core.Receipt // refund only: when the charge ends
	debt   int64        // the answer: ticks, before the charge
	hash   uint64       // for the denials
	epoch  uint32
}

// enter adds bucket i, unless there is nothing of it to refund.
func (c *call) enter(i int, buckets []core.Bucket, out []core.Outcome) error {
	b := &buckets[i]
	if c.op == opRefund && !out[i].Charged {
		return nil
	}
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	if err != nil {
		return err
	}
	u := unit{at: i, key: b.Key, rate: rate, cost: rate.Cost(b.Cost), shadow: b.Shadow}
	if c.op == opRefund {
		u.ends = out[i].Receipt
	}
	c.units = append(c.units, u)
	return nil
}

// abandon leaves the call to itself, unless it has just been answered.
func (c *call) abandon() bool { return c.state.CompareAndSwap(waiting, abandoned) }

// pointless reports whether nobody cares any more that the call is made. A refund is always
// worth making.
func (c *call) pointless() bool { return c.op != opRefund && c.state.Load() == abandoned }

// answer hands the result to the caller and reports whether there was still one.
func (c *call) answer(err error) bool {
	c.err = err
	if !c.state.CompareAndSwap(waiting, answered) {
		return false
	}
	c.done <- struct{}{}
	return true
}

// admitted reports whether every bucket that is not shadow admits.
func (c *call) admitted() bool {
	for i := range c.units {
		if u := &c.units[i]; !u.shadow && !u.admits() {
			return false
		}
	}
	return true
}

func (u *unit) admits() bool { return u.rate.Admits(u.debt, u.cost) }

// charged reports whether a unit was charged, where the buckets as a whole were admitted or not.
func (c *call) charged(u *unit, admitted bool) bool {
	return c.op == opTake && (admitted || u.shadow) && u.admits()
}

// outcomes works out what the script did and what a client is told from what each bucket owed,
// by the same integers. What a check is not admitted for elsewhere is given back.
func (c *call) outcomes(out []core.Outcome, admitted bool) {
	for i := range c.units {
		u := &c.units[i]
		o := &out[u.at]
		*o = core.Outcome{Source: core.FromShared, Admits: u.admits(), Charged: c.charged(u, admitted)}
		debt := u.debt
		if o.Charged {
			debt += u.cost
			o.Receipt = c.after(u.rate, debt)
		}
		if !o.Admits {
			o.RetryAfter = u.rate.Wait(debt, u.cost)
		}
		o.Remaining, o.ResetAfter = u.rate.Remaining(debt), u.rate.Next(debt)
	}
}

// after is the instant that lies ticks after the decision.
func (c *call) after(r tokenbucket.Rate, ticks int64) core.Receipt {
	sec, ns := r.Split(ticks)
	sec, ns = c.now[0]+sec, c.now[1]+ns
	return core.Receipt{sec + ns/int64(time.Second), ns % int64(time.Second)}
}

// giveBack turns a call that nobody waits for into the one that undoes its charge, and reports
// whether there is any. Shadow buckets keep a charge that another bucket's refusal undoes.
func (c *call) giveBack(keepShadow bool) bool {
	if c.op != opTake || c.err != nil {
		return false
	}
	admitted, charged := c.admitted(), c.units[:0]
	for _, u := range c.units {
		if c.charged(&u, admitted) && (!keepShadow || !u.shadow) {
			u.ends = c.after(u.rate, u.debt+u.cost)
			charged = append(charged, u)
		}
	}
	c.op, c.units = opRefund, charged
	return len(charged) > 0
}
