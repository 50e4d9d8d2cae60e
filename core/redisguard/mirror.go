package redisguard

import (
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

const (
	mirrors = 3 // the slice that is counted in, the one before it, and one that is empty
	stripes = 16
	block   = 64 // counters of one mark
)

// mirror is what a replica knows of a slice in Redis: what it was told, and what it has counted
// since it sent.
type mirror struct {
	told   countmin.Cells
	unsent countmin.Cells
	marks  []atomic.Uint32 // blocks with something unsent
	units  [stripes]striped
	sent   atomic.Uint64 // of units
	all    atomic.Uint64 // units of all replicas, those sent among them, as told

	index   int64 // of the slice; the exchange's own, as the rest
	made    bool  // it was there, with an end, when it was first sent to
	pending chunk
}

type striped struct {
	atomic.Uint64

	_ [56]byte
}

func newMirror(cells int) *mirror {
	return &mirror{told: make(countmin.Cells, cells), unsent: make(countmin.Cells, cells), marks: make([]atomic.Uint32, (cells+block-1)/block)}
}

func (m *mirror) count(p *countmin.Places, hash uint64, units uint32) {
	m.units[hash%stripes].Add(uint64(units))
	m.unsent.Add(p, units)
	for _, at := range p.All() {
		if mark := &m.marks[at/block]; mark.Load() == 0 {
			mark.Store(1)
		}
	}
}

// estimate reads what is unsent first: take moves it the other way.
func (m *mirror) estimate(p *countmin.Places) uint64 {
	least := uint64(1 << 63)
	for _, at := range p.All() {
		n := uint64(m.unsent[at].Load())
		least = min(least, n+uint64(m.told[at].Load()))
	}
	return least
}

// take is what is to be sent of a counter; it is told from now on.
func (m *mirror) take(at uint32) uint32 {
	n := m.unsent[at].Load()
	if n > 0 {
		countmin.Raise(&m.told[at], n)
		m.unsent[at].Add(-n)
	}
	return n
}

// learn takes what Redis says of a counter. Where that is less than is known, Redis has forgotten.
func (m *mirror) learn(at uint32, n int64) {
	if told := uint32(min(max(n, 0), countmin.Full)); told > m.told[at].Load() { //nolint:gosec // within its range
		m.told[at].Store(told)
	}
}

func (m *mirror) counted() (n uint64) {
	for i := range m.units {
		n += m.units[i].Load()
	}
	return n
}

// total is what all replicas have counted, as far as is known.
func (m *mirror) total() uint64 {
	sent := m.sent.Load()
	return m.all.Load() + m.counted() - sent
}

func (m *mirror) clear() {
	m.told.Clear()
	m.unsent.Clear()
	for i := range m.marks {
		m.marks[i].Store(0)
	}
	for i := range m.units {
		m.units[i].Store(0)
	}
	m.sent.Store(0)
	m.all.Store(0)
	m.made = false
	m.pending.clear()
}

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
