package memstore

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// overflow holds the buckets that keys without room share, one for each level and period. Its
// lock comes after all shards'.
type overflow struct {
	mu    sync.Mutex
	cells map[overflowKey]cell
	seen  int64         // as a shard's
	met   atomic.Uint64 // requests
}

// overflowKey leaves out the numbers that a policy may change while a bucket lives.
type overflowKey struct {
	level  string
	period time.Duration
}

func overflowOf(b *core.Bucket) overflowKey { return overflowKey{b.Level, b.Limit.Period} }

// readOverflow finds what the bucket owes that slot i shares.
func (s *Store) readOverflow(r *request, i int) {
	if !r.spills {
		r.spills = true
		s.overflow.mu.Lock()
	}
	if c, ok := s.overflow.cells[overflowOf(&r.buckets[i])]; ok {
		r.slots[i].owe(&c)
	}
}

// catchUp reads everything again where the overflow buckets have been seen at a later instant:
// their lock was taken after the clock was read.
func (s *Store) catchUp(r *request) {
	if s.overflow.seen > r.now {
		r.now = s.clock()
		for i := range r.slots {
			sl := &r.slots[i]
			sl.debt, sl.spill, sl.stale = 0, false, false
			s.read(r, i)
		}
	}
	s.overflow.seen = r.now
}

// sweep drops the buckets that owe nothing, and reports whether none is left.
func (o *overflow) sweep(clock func() int64) (empty bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := clock()
	o.seen = now
	for key, c := range o.cells {
		if !c.owes(now) {
			delete(o.cells, key)
		}
	}
	return len(o.cells) == 0
}
