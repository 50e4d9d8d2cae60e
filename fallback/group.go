package fallback

import (
	"errors"

	"github.com/tierlimit/tierlimit/core"
)

// group is the buckets of one node, which is called apart from the others where the shared store
// does not say which of its nodes have failed.
type group struct {
	partition string
	buckets   []core.Bucket
	at        []int // where they were among the others
}

func (s *Store) groups(buckets []core.Bucket) []group {
	var groups []group
	for i := range buckets {
		p, at := s.shared.Partition(buckets[i].Key), 0
		for at < len(groups) && groups[at].partition != p {
			at++
		}
		if at == len(groups) {
			groups = append(groups, group{partition: p})
		}
		groups[at].buckets, groups[at].at = append(groups[at].buckets, buckets[i]), append(groups[at].at, i)
	}
	return groups
}

// pick is the part of out that belongs to the group's buckets.
func (g *group) pick(out []core.Outcome) []core.Outcome {
	mine := make([]core.Outcome, len(g.at))
	for i, at := range g.at {
		mine[i] = out[at]
	}
	return mine
}

// reach makes a call to one node of the shared store unless its breaker is open.
func (s *Store) reach(partition string, call func() error) error {
	b := s.breaker(partition)
	if b.degraded.Load() {
		return errDegraded
	}
	err := call()
	if !s.watched {
		b.record(err)
	}
	if err != nil {
		s.failed(err)
	}
	return err
}

// note counts what a check of several nodes met: for the breakers, where the shared store does not
// report its calls itself, once a node.
func (c *check) note(err error) {
	if err != nil {
		c.store.failed(err)
	}
	last := error(nil)
	for i := range c.buckets {
		e := err
		if e == nil {
			e = c.out[i].Err
		}
		if e != nil && err == nil && !errors.Is(e, last) {
			c.store.failed(e)
		}
		if last = e; !c.store.watched && c.firstOf(i) {
			c.store.breaker(c.store.shared.Partition(c.buckets[i].Key)).record(e)
		}
	}
}

// firstOf reports whether no bucket before i is on its node.
func (c *check) firstOf(i int) bool {
	for j := range i {
		if c.store.shared.Partition(c.buckets[j].Key) == c.store.shared.Partition(c.buckets[i].Key) {
			return false
		}
	}
	return true
}
