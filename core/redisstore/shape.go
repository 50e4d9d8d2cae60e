package redisstore

import (
	"slices"

	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// maxShapes bounds how long a batch looks for a shape it has; a check whose shape is not among
// the latest spells it again.
const maxShapes = 8

// shape is what checks with equal limits and costs have in common. It is spelt once in a batch;
// the scripts read it.
type shape struct {
	op    operation
	units []unit // whatever their keys
	arg   int    // where in ARGV it is spelt
}

func (s *shape) fits(c *call) bool {
	return s.op == c.op && c.op != opRefund && slices.EqualFunc(s.units, c.units, func(a, b unit) bool { return a.same(&b) })
}

// spell writes the shape of a call as arguments, for the batch's script.
func (b *batch) spell(c *call) {
	if b.script == general {
		b.add(string(c.op))
	}
	b.addInt(int64(len(c.units)))
	for i := range c.units {
		u := &c.units[i]
		if b.script == quick {
			b.addInt(u.cost)
			b.addInt(u.rate.Capacity)
			b.add(flag(u.shadow))
			continue
		}
		letter, numbers := u.spell()
		b.add(letter)
		b.add(flag(u.shadow))
		for _, n := range numbers {
			b.addInt(n)
		}
		if c.op == opRefund {
			ends := u.ends
			if u.wide != nil {
				ends = u.wide.SpellReceipt(ends)
			}
			b.addInt(ends[0])
			b.addInt(ends[1])
		}
	}
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

// spell gives the bucket's algorithm and its numbers.
func (u *unit) spell() (letter string, numbers []int64) {
	switch {
	case u.wide != nil:
		return u.wide.Spell(u.wide.cost)
	case u.leaky:
		letter = "l"
	default:
		letter = "t"
	}
	return letter, tokenbucket.Spelling{Rate: u.rate, Cost: u.cost}.Numbers()
}
