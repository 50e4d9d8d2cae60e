package floodguard

import (
	"cmp"
	"slices"
	"sync/atomic"
)

const (
	hotSets = 64
	hotWays = 8 // a cache line
)

// hot remembers the keys of a slice whose estimates are the highest: each as one word, 32 bits of its
// hash above 32 bits of units. A key that loses its place loses nothing, since the sketch goes
// on counting it.
type hot [hotSets][hotWays]atomic.Uint64

func (h *hot) note(hash, units uint64) {
	set, name := &h[hash%hotSets], hash&^0xffffffff
	units = min(units, 1<<32-1)
	least, lowest := 0, uint64(1<<64-1)
	for i := range set {
		old := set[i].Load()
		if old&^0xffffffff == name && old != 0 {
			if units > old&0xffffffff {
				set[i].CompareAndSwap(old, name|units)
			}
			return
		}
		if n := old & 0xffffffff; n < lowest {
			least, lowest = i, n
		}
	}
	if units > lowest {
		// Where another is faster, the key's next request tries again.
		old := set[least].Load()
		if old&0xffffffff == lowest {
			set[least].CompareAndSwap(old, name|units)
		}
	}
}

func (h *hot) clear() {
	for i := range h {
		for j := range h[i] {
			h[i][j].Store(0)
		}
	}
}

// HotKey is a key that asks for much.
type HotKey struct {
	Hash  uint32 // of the key; it differs from process to process
	Units uint64 // asked for within what the guard remembers, as estimated
}

// Top lists the keys that have asked for the most, at most n of them, the most first. Keys whose
// units are within what the sketch may err are left out. Some 500 are remembered, so it is good for
// the first hundred.
func (g *Guard) Top(n int) []HotKey {
	v := g.current.Load()
	units := make(map[uint32]uint64)
	for _, s := range []*slice{v.cur, v.prev} {
		if s == nil {
			continue
		}
		// Two requests at once may have given one key two places.
		here := make(map[uint32]uint64)
		for i := range s.hot {
			for j := range s.hot[i] {
				if e := s.hot[i][j].Load(); e != 0 {
					here[uint32(e>>32)] = max(here[uint32(e>>32)], e&0xffffffff)
				}
			}
		}
		for hash, n := range here {
			units[hash] += n
		}
	}
	bound := g.shape.Error(v.units())
	out := make([]HotKey, 0, len(units))
	for hash, n := range units {
		if n > bound {
			out = append(out, HotKey{hash, n})
		}
	}
	slices.SortFunc(out, func(a, b HotKey) int {
		return cmp.Or(cmp.Compare(b.Units, a.Units), cmp.Compare(a.Hash, b.Hash))
	})
	return out[:min(max(n, 0), len(out))]
}
