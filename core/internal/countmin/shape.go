// Package countmin is the arithmetic of a Count-Min sketch (Cormode and Muthukrishnan, 2005): rows
// of counters, in each of which a key has one. Others may share it, so a row never tells less than
// the truth, and the least of them is the nearest to it.
package countmin

import (
	"fmt"
	"math"
)

// maxRows is how many rows the smallest delta needs.
const maxRows = 14

// MaxCells bounds one sketch: a gibibyte of counters.
const MaxCells = 1 << 28

// Shape is how many rows a sketch has and how wide they are.
type Shape struct{ Width, Rows uint32 }

// ShapeFor is the smallest shape whose estimates exceed the truth by more than epsilon times all
// that is counted for a share delta of the keys at most.
func ShapeFor(epsilon, delta float64) (Shape, error) {
	if !(epsilon > 0 && epsilon <= 0.1) {
		return Shape{}, fmt.Errorf("epsilon is %v, want above 0 to 0.1", epsilon)
	}
	if !(delta >= 1e-6 && delta <= 0.5) {
		return Shape{}, fmt.Errorf("delta is %v, want 1e-6 to 0.5", delta)
	}
	width, rows := math.Ceil(math.E/epsilon), math.Ceil(math.Log(1/delta))
	if cells := width * rows; cells > MaxCells {
		return Shape{}, fmt.Errorf("epsilon is %v, want one of at most %d counters: with that delta it needs %.0f", epsilon, MaxCells, cells)
	}
	return Shape{uint32(width), uint32(rows)}, nil
}

// Cells is how many counters there are.
func (s Shape) Cells() int { return int(s.Width) * int(s.Rows) }

// Error is what an estimate may be too high by when units are counted.
func (s Shape) Error(units uint64) uint64 {
	return uint64(math.Ceil(math.E / float64(s.Width) * float64(units)))
}

// Places are the counters of one key, one in each row.
type Places struct {
	rows uint32
	at   [maxRows]uint32
}

// Place finds them for the hash of a key.
func (s Shape) Place(hash uint64, p *Places) {
	p.rows = s.Rows
	first := uint32(0)
	for i := range p.All() {
		hash += 0x9e3779b97f4a7c15
		p.at[i] = first + uint32(mix(hash)>>32*uint64(s.Width)>>32)
		first += s.Width
	}
}

// All lists them.
func (p *Places) All() []uint32 { return p.at[:min(p.rows, maxRows)] }

// mix is the last step of SplitMix64: from one hash it makes as many as there are rows.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
