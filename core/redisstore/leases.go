package redisstore

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/counter"
)

const (
	maxLeases     = 1024
	leastCapacity = leaseShare * leastBlock
)

// leases are those of a store. No lock of theirs is held while Redis is asked.
type leases struct {
	now     func() int64
	hangar  *hangar
	later   func(*call)
	fetches sync.WaitGroup
	count   atomic.Int64 // of byKey: resets of a store without any look no further

	mu     sync.RWMutex
	byKey  map[string]*lease
	closed bool
}

// of is the lease of a bucket; nil: it is to have none.
func (ls *leases) of(b *core.Bucket, now int64) *lease {
	if !b.Lease || b.Shadow || b.Limit.Algorithm != core.TokenBucket || !counter.Plain(b.Limit) || b.Limit.Capacity() < leastCapacity {
		return nil
	}
	l := ls.find(b.Key)
	switch {
	case l == nil:
		return ls.add(b, now)
	case l.limit != b.Limit: // the policy has changed
		ls.drop(l)
		return nil
	}
	return l
}

func (ls *leases) find(key string) *lease {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	return ls.byKey[key]
}

func (ls *leases) add(b *core.Bucket, now int64) *lease {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byKey[b.Key]; l != nil || ls.closed || len(ls.byKey) >= maxLeases {
		return nil // made by another request just now, which is soon enough for the next
	}
	l, err := newLease(b, strings.Clone(b.Key), now)
	if err != nil {
		return nil
	}
	if ls.byKey == nil {
		ls.byKey = map[string]*lease{}
	}
	ls.byKey[l.key] = l
	ls.count.Store(int64(len(ls.byKey)))
	l.mu.Lock() // for the timer's function, which reads it too
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(leaseIdle, func() { ls.tend(l) })
	return l
}

// drop ends a lease.
func (ls *leases) drop(l *lease) {
	ls.mu.Lock()
	if ls.byKey[l.key] == l {
		delete(ls.byKey, l.key)
		ls.count.Store(int64(len(ls.byKey)))
	}
	ls.mu.Unlock()
	ls.giveBack(l, l.end(ls.now()))
}

// tend gives back what has not been spent in time, and ends a lease that nobody has charged for a
// while.
func (ls *leases) tend(l *lease) {
	left, idle := l.tend(ls.now())
	ls.giveBack(l, left)
	if idle {
		ls.drop(l)
	}
}

// forget drops the grants of buckets that are as good as never used: their charges are no more.
func (ls *leases) forget(buckets []core.Bucket) {
	if ls.count.Load() == 0 {
		return
	}
	for i := range buckets {
		if l := ls.find(buckets[i].Key); l != nil {
			l.forget()
		}
	}
}

// start has a fetch made unless the store is being closed.
func (ls *leases) start(s *Store, f *fetch) {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	if !ls.closed {
		ls.fetches.Add(1)
		go f.fly(s)
	}
}

// giveBack lets units of a lease go back to Redis, without waiting for it.
func (ls *leases) giveBack(l *lease, left spare) {
	if left.units == 0 {
		return
	}
	c, err := ls.hangar.newCall(opRefund, []core.Bucket{{Key: l.key, Limit: l.limit, Cost: left.units}}, []core.Outcome{{Charged: true, Receipt: left.receipt}})
	if err != nil {
		return // not with a limit that has been charged
	}
	c.abandon()
	ls.later(c)
}

// close ends all leases. It waits for blocks on their way, which takes the budget at most.
func (ls *leases) close() {
	ls.mu.Lock()
	all := ls.byKey
	ls.byKey, ls.closed = nil, true
	ls.count.Store(0)
	ls.mu.Unlock()
	ls.fetches.Wait()
	for _, l := range all {
		ls.giveBack(l, l.end(ls.now()))
	}
}
