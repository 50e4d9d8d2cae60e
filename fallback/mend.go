package fallback

import (
	"context"
	"errors"

	"github.com/tierlimit/tierlimit/core"
)

// mend has the local half decide the Local buckets that have no answer, and leaves the others for their
// OnFailure to judge. Where the request is refused, nothing is charged in either half.
func (c *check) mend(ctx context.Context) error {
	if c.take {
		c.store.learn(c.buckets, c.out)
	}
	denied := false
	for i := range c.out {
		o := &c.out[i]
		denied = denied || (o.Err == nil && !o.Admits && !o.Skipped && !c.buckets[i].Shadow)
	}
	refused, err := c.local(ctx, c.take && !denied)
	if err != nil {
		return err
	}
	if c.take {
		c.store.decided.Add(1)
		if refused {
			c.giveBack(ctx)
		}
	}
	return nil
}

// local asks the local half for the Local buckets that failed, to charge them if take says so and no
// bucket that failed refuses by itself. It reports whether any refuses.
func (c *check) local(ctx context.Context, take bool) (refused bool, err error) {
	mine := make([]core.Bucket, 0, len(c.buckets))
	for i := range c.buckets {
		switch b := &c.buckets[i]; {
		case c.out[i].Err == nil:
		case b.OnFailure == core.Local:
			local := c.store.scaled(b)
			c.store.prepare(b, &local, c.out[i].Err)
			mine = append(mine, local)
		case !b.Shadow && (b.OnFailure == core.Closed || b.Cost > b.Limit.Capacity()):
			refused = true
		}
	}
	half := check{take: take && !refused, buckets: mine, out: make([]core.Outcome, len(mine))}
	if err := half.ask(ctx, c.store.local); err != nil {
		return false, err
	}
	for i := range c.buckets {
		if c.out[i].Err != nil && c.buckets[i].OnFailure == core.Local {
			late := !errors.Is(c.out[i].Err, errDegraded)
			c.out[i], half.out = half.out[0], half.out[1:]
			if late && c.out[i].Charged {
				c.store.leaveOut(&c.buckets[i], 1)
			}
			refused = refused || (!c.out[i].Admits && !c.buckets[i].Shadow)
		}
	}
	return refused, nil
}

// leaveOut has what was just charged locally not be charged in the shared store as well: that did not
// say whether it has done so. A sign of -1 takes that back.
func (s *Store) leaveOut(b *core.Bucket, sign int64) {
	local := s.scaled(b)
	if unit, ok := unitOf(&local.Limit); ok {
		s.ledger.leaveOut(b.Key, sign*unit*min(b.Cost, local.Limit.Capacity()))
	}
}

// giveBack undoes what the shared store charged for a request that the local half, or a Closed level of a
// node that failed, refuses. What cannot be given back stays spent.
func (c *check) giveBack(ctx context.Context) {
	var charged []core.Bucket
	var out []core.Outcome
	for i := range c.buckets {
		b, o := &c.buckets[i], &c.out[i]
		if !o.Charged || b.Shadow || o.Source == core.FromLocal {
			continue
		}
		charged, out = append(charged, *b), append(out, *o)
		o.Charged, o.Receipt = false, core.Receipt{}
		if o.Remaining = min(o.Remaining+b.Cost, b.Limit.Capacity()); o.Remaining == b.Limit.Capacity() {
			o.ResetAfter = 0
		}
	}
	for _, g := range c.store.groups(charged) {
		_ = c.store.reach(g.partition, func() error {
			return c.store.shared.Refund(context.WithoutCancel(ctx), g.buckets, g.pick(out))
		})
	}
}
