package redisstore

import (
	"slices"
	"time"
)

// maxShapes bounds how long a batch looks for a shape it has; a check whose shape is not among
// the latest spells it again.
const maxShapes = 8

// shape is what checks with equal limits and costs have in common. It is spelt once in a batch;
// lua/shape.lua reads it.
type shape struct {
	op    operation
	units []unit // without keys
}

func (s *shape) fits(c *call) bool {
	return s.op == c.op && c.op != opRefund && slices.EqualFunc(s.units, c.units, func(a, b unit) bool {
		return a.cost == b.cost && a.rate == b.rate && a.shadow == b.shadow
	})
}

// spell writes the shape of a call as arguments.
func (b *batch) spell(c *call) {
	b.add(string(c.op))
	b.addInt(int64(len(c.units)))
	for i := range c.units {
		u := &c.units[i]
		shadow := "0"
		if u.shadow {
			shadow = "1"
		}
		b.add("t")
		b.add(shadow)
		b.addInt(int64(time.Second) / u.rate.PerSec)
		b.addPair(u.rate.Split(u.cost))
		if c.op == opRefund {
			b.addPair(u.ends[0], u.ends[1])
		} else {
			b.addPair(u.rate.Split(u.rate.Capacity))
		}
	}
}
