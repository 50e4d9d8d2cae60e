package memstore

import (
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// overflow holds the buckets that keys without room share, one for each level and period.
type overflow struct {
	mu      sync.Mutex
	entries map[overflowKey]entry
}

// overflowKey leaves out the numbers that a policy may change while a bucket lives.
type overflowKey struct {
	level  string
	period time.Duration
}

func overflowOf(b *core.Bucket) overflowKey { return overflowKey{b.Level, b.Limit.Period} }

// sweep drops the buckets that owe nothing, and reports whether none is left.
func (o *overflow) sweep(now int64) (empty bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, e := range o.entries {
		if !e.owes(now) {
			delete(o.entries, key)
		}
	}
	return len(o.entries) == 0
}
