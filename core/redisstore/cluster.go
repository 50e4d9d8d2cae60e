package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

const (
	reloadEvery = 200 * time.Millisecond
	// maxReloads is how many may be under way: one that asked a hung node hangs too, for the
	// client's own time-out, and must not keep the next from asking another.
	maxReloads  = 4
	leastReload = time.Second // a small budget is too short for reading the map
)

// cluster knows the primary of each tag. It reads the slot map when the first check comes and
// after failures, never in the way of a check: without that, go-redis goes on asking a primary
// that is gone for up to a minute.
type cluster struct {
	store    *Store
	client   *redis.ClusterClient
	prefixes [tagCount]string
	table    atomic.Pointer[[tagCount]*node] // nil: not known yet
	ready    chan struct{}                   // closed when it is

	mu      sync.Mutex
	nodes   []*node // those in the table, and those that still fly
	latest  *reload
	under   int // reloads under way
	reloads sync.WaitGroup
	again   bool // a later one is due, for what came too soon after the latest
	closed  bool
}

// reload is one reading of the slot map.
type reload struct {
	began time.Time
	done  chan struct{}
	err   error // set before done is closed
}

func newCluster(s *Store, client *redis.ClusterClient) *cluster {
	c := &cluster{store: s, client: client, ready: make(chan struct{})}
	for i, name := range tagNames {
		c.prefixes[i] = s.prefix + "{" + name + "}:"
	}
	return c
}

// known waits for the first slot map, within the timer.
func (c *cluster) known(ctx context.Context) (*[tagCount]*node, error) {
	if t := c.table.Load(); t != nil {
		return t, nil
	}
	timer := time.NewTimer(c.store.budget)
	defer timer.Stop()
	r := c.reload()
	select {
	case <-c.ready:
	case <-r.done:
	case <-timer.C:
		return nil, &core.StoreError{Fault: core.FaultStore, Err: errBudget}
	case <-ctx.Done():
		return nil, gone(ctx)
	}
	if t := c.table.Load(); t != nil {
		return t, nil
	}
	return nil, r.err
}

// reload starts reading the slot map, a little later where that was begun a moment ago.
func (c *cluster) reload() *reload {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	r := &reload{began: now, done: make(chan struct{})}
	if c.closed {
		r.err = core.ErrClosed
		close(r.done)
		return r
	}
	if last := c.latest; last != nil && (now.Sub(last.began) < reloadEvery || c.under >= maxReloads) {
		if !c.again {
			c.again = true
			time.AfterFunc(max(reloadEvery-now.Sub(last.began), reloadEvery/10), c.reloadAgain)
		}
		return last
	}
	c.latest = r
	c.under++
	c.reloads.Go(func() { c.read(r) })
	return r
}

func (c *cluster) reloadAgain() {
	c.mu.Lock()
	c.again = false
	c.mu.Unlock()
	c.reload()
}

// read is ForEachMaster for what it does before it looks at the masters: it reloads the client's
// map and waits for it. ReloadState returns before there is any.
func (c *cluster) read(r *reload) {
	ctx, cancel := context.WithTimeout(context.Background(), max(connectBudgets*c.store.budget, leastReload))
	defer cancel()
	err := c.client.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
	if err == nil {
		err = c.adopt(ctx)
	}
	if err != nil {
		r.err = classify(err)
	}
	c.mu.Lock()
	c.under--
	c.mu.Unlock()
	close(r.done)
	if err != nil && c.table.Load() == nil {
		c.store.report("", r.err) // no call to any node will tell
	}
}

// adopt makes the client's map the one that checks go by.
func (c *cluster) adopt(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	table, bases := new([tagCount]*node), map[*redis.Client]*node{}
	for _, n := range c.nodes {
		bases[n.base] = n
	}
	used := map[*node]bool{}
	for i, name := range tagNames {
		base, err := c.client.MasterForKey(ctx, name)
		if err != nil {
			return err
		}
		n := bases[base]
		if n == nil {
			n = newNode(c, base)
			bases[base] = n
		}
		table[i], used[n] = n, true
	}
	c.nodes = c.nodes[:0:0]
	for _, n := range bases {
		if used[n] || !n.queue.quiet() {
			c.nodes = append(c.nodes, n)
		}
	}
	if c.table.Swap(table) == nil {
		close(c.ready)
	}
	return nil
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
