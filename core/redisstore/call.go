package redisstore

import (
	"strconv"
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

// call is one check on its way to Redis. It owns all it needs, since its caller may leave.
type call struct {
	op    operation
	units []unit
	state atomic.Int32
	done  chan struct{} // closed when reply and err are set and the caller is still there

	now   core.Receipt // Redis' clock at the decision
	reply []int64      // for each unit: admits, debt (s, ns)
	err   error
}

// The states of a call: waiting becomes answered or abandoned, once.
const (
	waiting = iota
	answered
	abandoned
)

// unit is one bucket of a call.
type unit struct {
	key    string
	rate   tokenbucket.Rate
	cost   int64 // ticks
	shadow bool
	ends   core.Receipt // refund only: when the charge ends
}

func newCall(op operation, prefix string, buckets []core.Bucket, out []core.Outcome) (*call, error) {
	c := &call{op: op, units: make([]unit, 0, len(buckets)), done: make(chan struct{})}
	for i := range buckets {
		b := &buckets[i]
		if op == opRefund && !out[i].Charged {
			continue
		}
		rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
		if err != nil {
			return nil, err
		}
		u := unit{key: prefix + b.Key, rate: rate, cost: rate.Cost(b.Cost), shadow: b.Shadow}
		if op == opRefund {
			u.ends = out[i].Receipt
		}
		c.units = append(c.units, u)
	}
	return c, nil
}

// abandon leaves the call to itself, unless it has just been answered.
func (c *call) abandon() bool { return c.state.CompareAndSwap(waiting, abandoned) }

// pointless reports whether nobody cares any more that the call is made. A refund is always
// worth making.
func (c *call) pointless() bool { return c.op != opRefund && c.state.Load() == abandoned }

// answer hands the result to the caller and reports whether there was still one.
func (c *call) answer(now core.Receipt, reply []int64, err error) bool {
	c.now, c.reply, c.err = now, reply, err
	if !c.state.CompareAndSwap(waiting, answered) {
		return false
	}
	close(c.done)
	return true
}

// admitted reports whether the buckets were charged.
func (c *call) admitted() bool {
	for i := range c.units {
		if c.reply[3*i] == 0 && !c.units[i].shadow {
			return false
		}
	}
	return true
}

// charged reports whether unit i was charged, where the buckets as a whole were or were not.
func (c *call) charged(i int, admitted bool) bool {
	return c.op == opTake && c.reply[3*i] == 1 && (admitted || c.units[i].shadow)
}

// outcomes reads the reply. All that a client is told follows from the debt by integers.
func (c *call) outcomes(out []core.Outcome) {
	admitted := c.admitted()
	for i := range c.units {
		u, o := &c.units[i], core.Outcome{Source: core.FromShared, Admits: c.reply[3*i] == 1}
		debt := u.rate.Join(c.reply[3*i+1], c.reply[3*i+2])
		if !o.Admits {
			o.RetryAfter = u.rate.Wait(debt, u.cost)
		}
		if o.Charged = c.charged(i, admitted); o.Charged {
			o.Receipt = c.ends(i)
		}
		o.Remaining, o.ResetAfter = u.rate.Remaining(debt), u.rate.Next(debt)
		out[i] = o
	}
}

// ends is the instant at which the charge of unit i will have been refilled.
func (c *call) ends(i int) core.Receipt {
	sec, ns := c.now[0]+c.reply[3*i+1], c.now[1]+c.reply[3*i+2]
	return core.Receipt{sec + ns/int64(time.Second), ns % int64(time.Second)}
}

// giveBack is the call that undoes a charge nobody is waiting for any more, or nil.
func (c *call) giveBack() *call {
	if c.op != opTake || c.err != nil {
		return nil
	}
	admitted := c.admitted()
	back := &call{op: opRefund}
	for i, u := range c.units {
		if c.charged(i, admitted) {
			u.ends = c.ends(i)
			back.units = append(back.units, u)
		}
	}
	back.state.Store(abandoned) // nobody waits for it either
	return back
}

const argsPerUnit = 7

// appendTo writes the call as script arguments.
func (c *call) appendTo(args []any) []any {
	args = append(args, string(c.op), strconv.Itoa(len(c.units)))
	for i := range c.units {
		u := &c.units[i]
		shadow := "0"
		if u.shadow {
			shadow = "1"
		}
		costS, costN := u.rate.Split(u.cost)
		lastS, lastN := u.rate.Split(u.rate.Capacity)
		if c.op == opRefund {
			lastS, lastN = u.ends[0], u.ends[1]
		}
		args = append(args, "t", shadow, text(int64(time.Second)/u.rate.PerSec),
			text(costS), text(costN), text(lastS), text(lastN))
	}
	return args
}

func text(n int64) string { return strconv.FormatInt(n, 10) }
