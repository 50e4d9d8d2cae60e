package redisstore

import (
	"slices"
	"strconv"
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

// appendShape spells the shape of a call.
func appendShape(b []byte, c *call) []byte {
	b = append(b, c.op...)
	for i := range c.units {
		u := &c.units[i]
		shadow := byte('0')
		if u.shadow {
			shadow = '1'
		}
		b = append(b, ' ', 't', shadow)
		costS, costN := u.rate.Split(u.cost)
		lastS, lastN := u.rate.Split(u.rate.Capacity)
		if c.op == opRefund {
			lastS, lastN = u.ends[0], u.ends[1]
		}
		for _, n := range [...]int64{int64(time.Second) / u.rate.PerSec, costS, costN, lastS, lastN} {
			b = strconv.AppendInt(append(b, ' '), n, 10)
		}
		b = append(b, ';')
	}
	return b
}
