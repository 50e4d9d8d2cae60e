package memstore

import (
	"sync"
	"sync/atomic"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/counter"
)

// overflow holds the buckets that keys without room share, one for each level and period. Its
// lock comes after all shards'.
type overflow struct {
	mu     sync.Mutex
	cells  map[overflowKey]cell
	states map[overflowKey]held
	seen   int64         // as a shard's
	met    atomic.Uint64 // requests
}

// overflowKey leaves out the numbers that a policy may change while a bucket lives, but where steps
// are counted in them.
type overflowKey struct {
	level string
	limit core.Limit
}

func overflowOf(b *core.Bucket) overflowKey {
	k := overflowKey{b.Level, b.Limit}
	if k.limit.Step() == 0 {
		k.limit.Quota, k.limit.Burst = 0, 0
	}
	return k
}

// readOverflow finds what the bucket owes that slot i shares.
func (s *Store) readOverflow(r *request, i int) {
	if !r.spills {
		r.spills = true
		s.overflow.mu.Lock()
	}
	key := overflowOf(&r.buckets[i])
	if w := r.slots[i].wide; w != nil {
		w.held = s.overflow.states[key].State
	} else if c, ok := s.overflow.cells[key]; ok {
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
			if sl.wide != nil {
				sl.wide.held = counter.State{}
			}
			s.read(r, i)
		}
	}
	s.overflow.seen = r.now
}

// sweep drops the buckets that owe nothing, and reports whether none is left.
func (o *overflow) sweep(s *Store) (empty bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := s.clock()
	o.seen = now
	for key, h := range o.states {
		if h.ends <= s.epoch+now {
			delete(o.states, key)
		}
	}
	for key, c := range o.cells {
		if !c.owes(now) {
			delete(o.cells, key)
		}
	}
	return len(o.cells)+len(o.states) == 0
}
