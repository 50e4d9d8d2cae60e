package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// cluster knows the primary of each tag. It reads the client's map when the first check comes and
// after failures, never in the way of a check: without that, go-redis goes on asking a primary
// that is gone for up to a minute.
type cluster struct {
	store    *Store
	client   topology
	prefixes [tagCount]string
	table    atomic.Pointer[[tagCount]*node] // nil: not known yet
	ready    chan struct{}                   // closed when it is
	late     atomic.Pointer[error]           // why there is none yet, once a reading was late: nobody waits for the next
	told     atomic.Int64                    // when the breaker was told of that, in Unix nanoseconds
	fresh    atomic.Int64                    // when that was last thought of, in Unix nanoseconds

	mu      sync.Mutex
	nodes   []*node // those in the table, and those that still fly
	latest  *reload
	mapped  time.Time // when the latest reload that brought a map had begun
	under   int       // reloads under way
	reloads sync.WaitGroup
	again   bool // a later one is due, for what came too soon after the latest
	closed  bool
}

func newCluster(s *Store, client topology) *cluster {
	c := &cluster{store: s, client: client, ready: make(chan struct{})}
	for i, name := range tagNames {
		c.prefixes[i] = s.prefix + "{" + name + "}:"
	}
	return c
}

// known waits for the first slot map, unless waiting is hopeless, and tells how much of the budget that has left.
func (c *cluster) known(ctx context.Context) (table *[tagCount]*node, left time.Duration, err error) {
	if t := c.table.Load(); t != nil {
		c.freshen()
		return t, c.store.budget, nil
	}
	since := time.Now()
	r := c.reload()
	if late := c.late.Load(); late != nil {
		c.hopeless(*late)
		return nil, 0, *late
	}
	timer := time.NewTimer(c.store.budget)
	defer timer.Stop()
	select {
	case <-c.ready:
	case <-r.done:
	case <-timer.C:
		return nil, 0, errNoMap
	case <-ctx.Done():
		return nil, 0, gone(ctx)
	}
	if t := c.table.Load(); t != nil {
		return t, max(c.store.budget-time.Since(since), 0), nil
	}
	return nil, 0, r.err
}

// freshen has the map read again where it may have changed without a failure.
func (c *cluster) freshen() {
	if every := int64(c.client.stale()); every > 0 {
		if now, last := time.Now().UnixNano(), c.fresh.Load(); now-last >= every && c.fresh.CompareAndSwap(last, now) {
			c.reload()
		}
	}
}

func (c *cluster) partition(key string) string {
	if t := c.table.Load(); t != nil {
		return t[tagOf(key)].addr
	}
	return ""
}

// wait returns when nothing is under way at any node, or when most has passed.
func (c *cluster) wait(most time.Duration) {
	c.mu.Lock()
	c.closed = true
	nodes := c.nodes
	c.mu.Unlock()
	end := time.Now().Add(most)
	for _, n := range nodes {
		n.queue.wait(time.Until(end))
	}
	read := make(chan struct{})
	go func() {
		c.reloads.Wait()
		close(read)
	}()
	select {
	case <-read:
	case <-time.After(time.Until(end)):
	}
}
