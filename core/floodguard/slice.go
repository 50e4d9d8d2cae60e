package floodguard

import (
	"sync/atomic"

	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// stripes spread what every request counts over cache lines.
const stripes = 16

// slice is what is counted in one stretch of time.
type slice struct {
	cells countmin.Cells
	total [stripes]striped
	hot   hot
}

type striped struct {
	atomic.Uint64

	_ [56]byte
}

func (s *slice) count(p *countmin.Places, hash uint64, units uint32) {
	s.total[hash%stripes].Add(uint64(units))
	s.cells.Add(p, units)
}

// units is all that was counted.
func (s *slice) units() (n uint64) {
	if s == nil {
		return 0
	}
	for i := range s.total {
		n += s.total[i].Load()
	}
	return n
}

func (s *slice) clear() {
	s.cells.Clear()
	for i := range s.total {
		s.total[i].Store(0)
	}
	s.hot.clear()
}
