package redisguard

import (
	"sync/atomic"

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
