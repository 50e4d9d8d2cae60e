package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

const (
	reloadEvery = 200 * time.Millisecond
	// maxReloads is how many may be under way. One that asked a hung node hangs too, for the client's own
	// time-out, and must not keep the next from asking another. A Cluster takes 15 s, unless set up otherwise,
	// to put a replica in its place: that is 75 readings, 25 of them of the one hung node of three.
	maxReloads  = 32
	leastReload = time.Second // a small budget is too short for reading the map
)

// reload is one reading of the slot map.
type reload struct {
	began time.Time
	done  chan struct{}
	err   error // set before done is closed
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

func (c *cluster) read(r *reload) {
	ctx, cancel := context.WithTimeout(context.Background(), max(connectBudgets*c.store.budget, leastReload))
	defer cancel()
	slow := time.AfterFunc(c.store.budget, func() { c.late.CompareAndSwap(nil, &errNoMap) })
	defer slow.Stop()
	err := c.client.refresh(ctx)
	if err == nil {
		err = c.adopt(ctx)
	}
	if err != nil {
		r.err = classify(err)
		if ctx.Err() != nil {
			r.err = errNoMap // it was cut short before it knew the cause
		}
		if c.late.Load() != nil {
			c.late.Store(&r.err) // it says more
		}
	}
	c.mu.Lock()
	c.under--
	overtaken := r.began.Before(c.mapped)
	if err == nil && !overtaken {
		c.mapped = r.began
	}
	c.mu.Unlock()
	close(r.done)
	if err == nil && overtaken {
		c.reload() // the map that was there knew better
	}
	if err != nil && c.table.Load() == nil {
		c.told.Store(time.Now().UnixNano())
		c.store.report("", r.err) // no call to any node will tell
	}
}

// hopeless reports that there is still no map, as often as one might have been read: readings that hang
// tell nothing by themselves.
func (c *cluster) hopeless(err error) {
	if now, last := time.Now().UnixNano(), c.told.Load(); now-last >= int64(reloadEvery) && c.told.CompareAndSwap(last, now) {
		c.store.report("", err)
	}
}

var errNoMap error = &core.StoreError{Fault: core.FaultStore, Err: errBudget}

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
		base, err := c.client.primary(ctx, name)
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
