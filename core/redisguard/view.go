package redisguard

import (
	"time"

	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// view is the two slices that an estimate is made of.
type view struct {
	cur, prev *mirror // prev is nil for a moment where time has leapt
	ends      time.Time
}

type estimate struct{ cur, prev uint64 }

func (v *view) estimate(p *countmin.Places) (e estimate) {
	e.cur = v.cur.estimate(p)
	if v.prev != nil {
		e.prev = v.prev.estimate(p)
	}
	return e
}

func (v *view) units() uint64 {
	n := v.cur.total()
	if v.prev != nil {
		n += v.prev.total()
	}
	return n
}

// turn moves on to the slice of an instant. Where that is not the next one, nothing is known of the one
// before it until Redis has been asked.
func (g *Guard) turn(now time.Time) {
	index, old := now.UnixNano()/int64(g.length), g.current.Load()
	if old != nil && index == old.cur.index {
		return
	}
	next := &view{cur: g.idle[0], ends: time.Unix(0, (index+1)*int64(g.length))}
	next.cur.index = index
	g.idle = g.idle[1:]
	switch {
	case old == nil:
	case index == old.cur.index+1:
		next.prev = old.cur
		g.current.Store(next)
		g.retire(old.prev)
		return
	default:
		g.contact.Store(0)
		g.current.Store(next)
		g.retire(old.cur, old.prev)
	}
	prev := g.idle[0]
	prev.index = index - 1
	g.idle = g.idle[1:]
	g.current.Store(&view{cur: next.cur, prev: prev, ends: next.ends})
}

func (g *Guard) retire(old ...*mirror) {
	for _, m := range old {
		m.clear()
		g.idle = append(g.idle, m)
	}
}
