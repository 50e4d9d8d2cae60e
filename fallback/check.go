package fallback

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// check is one Take or Peek. A shared store of several nodes may answer for some buckets only; the
// local half then answers for the rest, and together they charge all or nothing.
type check struct {
	store   *Store
	take    bool
	buckets []core.Bucket
	out     []core.Outcome
}

// ask is what the check comes down to in one half.
func (c *check) ask(ctx context.Context, half core.Store) error {
	if c.take {
		return half.Take(ctx, c.buckets, c.out)
	}
	return half.Peek(ctx, c.buckets, c.out)
}

// askShared asks the shared store and notes which nodes failed.
func (c *check) askShared(ctx context.Context) error {
	err := c.ask(ctx, c.store.shared)
	c.note(err)
	return err
}

// decide asks the shared store for the buckets whose breakers are closed, and the local half for
// those that have no answer then.
func (c *check) decide(ctx context.Context) error {
	open := c.open()
	if open == 0 {
		err := c.askShared(ctx)
		switch {
		case err != nil && core.FaultOf(err) == core.FaultCaller:
			return err
		case err != nil:
			c.fail(err)
		case !c.failed():
			if c.take {
				c.store.learn(c.buckets, c.out)
			}
			return nil
		}
	} else if err := c.askRest(ctx, len(c.buckets)-open); err != nil {
		return err
	}
	return c.mend(ctx)
}

// open marks the buckets whose breaker is open as failed, and counts them. The first bucket without
// a partition says that there are none.
func (c *check) open() (n int) {
	for i := range c.buckets {
		p := c.store.shared.Partition(c.buckets[i].Key)
		degraded := c.store.degraded(p)
		if i == 0 && p == "" {
			if degraded {
				c.fail(errDegraded)
				n = len(c.buckets)
			}
			return n
		}
		c.out[i] = core.Outcome{}
		if degraded {
			c.out[i] = core.Outcome{Source: core.FromNothing, Err: errDegraded}
			n++
		}
	}
	return n
}

func (c *check) fail(err error) {
	for i := range c.out {
		c.out[i] = core.Outcome{Source: core.FromNothing, Err: err}
	}
}

func (c *check) failed() bool {
	for i := range c.out {
		if c.out[i].Err != nil {
			return true
		}
	}
	return false
}

// askRest asks the shared store for the n buckets that are not marked as failed. Where the others
// refuse already, what they said stands and nothing is charged.
func (c *check) askRest(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	rest := check{store: c.store, take: c.take, buckets: make([]core.Bucket, 0, n), out: make([]core.Outcome, n)}
	for i := range c.buckets {
		if c.out[i].Err == nil {
			rest.buckets = append(rest.buckets, c.buckets[i])
		}
	}
	var said []core.Outcome
	if c.take {
		ahead := check{store: c.store, buckets: c.buckets, out: append([]core.Outcome(nil), c.out...)}
		refused, err := ahead.local(ctx, false)
		if err != nil {
			return err
		}
		rest.take = !refused
		if refused {
			said = ahead.out
		}
	}
	if err := rest.askShared(ctx); err != nil {
		if core.FaultOf(err) == core.FaultCaller {
			return err
		}
		rest.fail(err)
	}
	for i := range c.buckets {
		if c.out[i].Err == nil {
			c.out[i], rest.out = rest.out[0], rest.out[1:]
		} else if said != nil {
			c.out[i] = said[i]
		}
	}
	return nil
}
