package countmin

import (
	"math"
	"sync/atomic"
)

// Full is what a counter stops at.
const Full = math.MaxUint32

// Cells are the counters of a sketch. They are safe for concurrent use and take no lock.
type Cells []atomic.Uint32

// Add counts units for a key. A counter that is full stays so: it tells too little then, but no
// less than Full, and no threshold is above that.
func (c Cells) Add(p *Places, units uint32) {
	for _, at := range p.All() {
		Raise(&c[at], units)
	}
}

// Raise adds units to one counter, up to Full.
func Raise(cell *atomic.Uint32, units uint32) {
	for {
		old := cell.Load()
		now := old + units
		if now < old {
			now = Full
		}
		if old == now || cell.CompareAndSwap(old, now) {
			return
		}
	}
}

// Estimate is no less than what has been counted for a key by all calls of Add that have returned.
func (c Cells) Estimate(p *Places) uint32 {
	least := uint32(Full)
	for _, at := range p.All() {
		least = min(least, c[at].Load())
	}
	return least
}

// Clear sets all counters to 0, one by one.
func (c Cells) Clear() {
	for i := range c {
		if c[i].Load() != 0 {
			c[i].Store(0)
		}
	}
}

// Units is a cost as a counter takes it.
func Units(cost int64) uint32 { return uint32(min(max(cost, 0), Full)) } //nolint:gosec // within its range
