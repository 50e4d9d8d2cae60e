package floodguard

import (
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// view is the two slices that an estimate is made of. Together they hold the window, wherever in
// the newer one the present is.
type view struct {
	cur, prev *slice        // prev is nil where there was nothing for a whole slice
	ends      time.Duration // when cur does
	late      atomic.Bool   // there were requests after that
}

// estimate is what each slice tells of a key.
type estimate struct{ cur, prev uint64 }

func (e estimate) sum() uint64 { return e.cur + e.prev }

// estimate reads after the key's own units were counted: of requests that come at once, one then
// sees all of them.
func (v *view) estimate(p *countmin.Places) (e estimate) {
	e.cur = uint64(v.cur.cells.Estimate(p))
	if v.prev != nil {
		e.prev = uint64(v.prev.cells.Estimate(p))
	}
	return e
}

func (v *view) units() uint64 { return v.cur.units() + v.prev.units() }

// at is the view of an instant.
func (g *Guard) at(now time.Duration) *view {
	if v := g.current.Load(); now < v.ends {
		return v
	}
	return g.turn(now)
}

// turn ends a slice. Where none is empty yet the present one goes on: what it holds is then
// forgotten late.
func (g *Guard) turn(now time.Duration) *view {
	v := g.current.Load()
	if now < v.ends {
		return v
	}
	var next view
	select {
	case next.cur = <-g.empty:
	default:
		v.late.Store(true)
		return v
	}
	next.prev, next.ends = v.cur, v.ends+g.length
	old := []*slice{v.prev}
	switch late := now - v.ends; {
	case late >= g.length && !v.late.Load():
		next.prev, next.ends = nil, now+g.length
		old = append(old, v.cur)
	case late > g.slack && v.late.Load():
		next.ends = now + g.length
	}
	if !g.current.CompareAndSwap(v, &next) {
		g.empty <- next.cur
		return g.current.Load()
	}
	g.relieve(v)
	go g.forget(old)
	return &next
}

// forget empties slices that nobody reads any more.
func (g *Guard) forget(old []*slice) {
	for _, s := range old {
		if s != nil {
			s.clear()
			g.empty <- s
		}
	}
}
