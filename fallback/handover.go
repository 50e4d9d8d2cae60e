package fallback

import (
	"context"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// handOver is how long after a node's return a replica still keeps to its share, though the shared store
// decides again: as long as others may take to find out that it is back. What they have admitted is not
// charged there before, so it would seem to be there for the taking.
const handOver = 1500 * time.Millisecond

func (s *Store) handOver(b *breaker) {
	if s.portion.share() == 1 {
		return // there is nobody to wait for
	}
	until := s.now() + int64(handOver)
	b.until.Store(until)
	s.until.Store(until)
}

// handingOver reports whether some bucket may have to be held to this replica's share.
func (s *Store) handingOver() bool {
	if s.ledger.size.Load() > 0 {
		return true
	}
	until := s.until.Load()
	if until == 0 {
		return false
	}
	if s.now() < until {
		return true
	}
	s.until.CompareAndSwap(until, 0)
	return false
}

// held reports whether a bucket that the shared store decides is also held to this replica's share: its
// node has just come back, or it has not been charged there yet what it owes.
func (s *Store) held(b *core.Bucket) bool {
	if b.OnFailure != core.Local {
		return false
	}
	if v, ok := s.breakers.Load(s.shared.Partition(b.Key)); ok {
		node := v.(*breaker)
		if node.degraded.Load() {
			return false
		}
		if node.until.Load() > s.now() {
			return true
		}
	}
	return s.ledger.has(b.Key)
}

// decideHeld charges the local half first, and the shared store what that admits.
func (c *check) decideHeld(ctx context.Context) error {
	s := c.store
	half, at := check{store: s, take: true}, []int(nil)
	for i := range c.buckets {
		if b := &c.buckets[i]; s.held(b) {
			local := s.scaled(b)
			s.prepare(b, &local, nil)
			s.leaveOut(b, 1) // whoever draws meanwhile must not take it for admitted here
			half.buckets, at = append(half.buckets, local), append(at, i)
		}
	}
	if len(at) == 0 {
		return c.decide(ctx)
	}
	half.out = make([]core.Outcome, len(at))
	if err := half.ask(ctx, s.local); err != nil {
		return err
	}
	if half.refused() {
		for _, i := range at {
			s.leaveOut(&c.buckets[i], -1)
		}
		s.decided.Add(1)
		for i := range c.out {
			c.out[i] = core.Outcome{Source: core.FromLocal, Skipped: true}
		}
		for i, o := range half.out {
			c.out[at[i]] = o
		}
		c.chargeShadows(ctx)
		return nil
	}
	err := c.decide(ctx)
	refused := err != nil || c.refused()
	charged := make([]bool, len(at)) // by the shared store
	for i := range half.out {
		// What the local half has decided in the end, it has charged again.
		o := &half.out[i]
		charged[i] = o.Charged && !refused && c.out[at[i]].Source != core.FromLocal
		o.Charged = o.Charged && !charged[i]
	}
	_ = s.local.Refund(context.WithoutCancel(ctx), half.buckets, half.out) // fails only when closed
	for i := range at {
		if !charged[i] {
			s.leaveOut(&c.buckets[at[i]], -1)
		}
	}
	return err
}

// chargeShadows has the shared store charge the shadow buckets of a request that the local half refuses: they are
// charged whatever becomes of it. What cannot be asked is not charged.
func (c *check) chargeShadows(ctx context.Context) {
	var shadows []core.Bucket
	var at []int
	for i := range c.buckets {
		if c.buckets[i].Shadow {
			shadows, at = append(shadows, c.buckets[i]), append(at, i)
		}
	}
	out := make([]core.Outcome, len(shadows))
	if len(shadows) == 0 || c.store.shared.Take(ctx, shadows, out) != nil {
		return
	}
	for i, o := range out {
		if o.Err == nil {
			c.out[at[i]] = o
		}
	}
}

// refused reports whether some bucket that is not shadow refuses.
func (c *check) refused() bool {
	for i := range c.out {
		o, b := &c.out[i], &c.buckets[i]
		switch {
		case b.Shadow || o.Skipped:
		case o.Err != nil && b.OnFailure != core.Closed:
		case o.Err != nil || !o.Admits:
			return true
		}
	}
	return false
}
