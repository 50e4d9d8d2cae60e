package redisstore

import (
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
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

// enter adds bucket i, unless there is nothing of it to refund.
func (c *call) enter(i int, buckets []core.Bucket, out []core.Outcome, now func() time.Time) error {
	b := &buckets[i]
	if c.op == opRefund && !out[i].Charged {
		return nil
	}
	u, err := newUnit(b, now)
	if err != nil {
		return err
	}
	u.at = i
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

// charged reports whether a unit was charged, where the buckets as a whole were admitted or not.
func (c *call) charged(u *unit, admitted bool) bool {
	return c.op == opTake && (admitted || u.shadow) && u.admits()
}

// outcomes fills in what became of each bucket, where the check as a whole was admitted or not.
func (c *call) outcomes(out []core.Outcome, admitted bool) {
	for i := range c.units {
		u := &c.units[i]
		out[u.at] = u.outcome(c.now, c.charged(u, admitted))
	}
}

// quick reports whether the quick script can make the call.
func (c *call) quick() bool {
	if c.op != opTake {
		return false
	}
	for i := range c.units {
		if !c.units[i].quick() {
			return false
		}
	}
	return true
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
			u.ends = u.receipt(c.now)
			charged = append(charged, u)
		}
	}
	c.op, c.units = opRefund, charged
	return len(charged) > 0
}
