package redisstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// gate holds calls on their way to Redis while it is shut, so that checks gather behind them.
type gate struct {
	redisstore.Client
	mu    sync.RWMutex
	count atomic.Int64
}

func (g *gate) Process(ctx context.Context, cmd redis.Cmder) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	g.count.Add(1)
	return g.Client.Process(ctx, cmd)
}

// occupy makes as many calls as may be under way, so that what follows waits for them. Redis must
// not answer now. done returns when they are over.
func occupy(t *testing.T, s *redisstore.Store) (done func()) {
	t.Helper()
	idle(t, s)
	var wg sync.WaitGroup
	for i := range s.Room() {
		wg.Go(func() {
			_ = s.Peek(context.Background(), []core.Bucket{bucket("held", core.PerHour(1))}, make([]core.Outcome, 1))
		})
		eventually(t, 10*time.Second, "call under way", func() bool {
			flights, _, waiting := s.Queue()
			return flights == i+1 && waiting == 0
		})
	}
	return wg.Wait
}

// hold shuts the gate behind those calls until release.
func hold(t *testing.T, s *redisstore.Store, g *gate) (release func()) {
	t.Helper()
	g.mu.Lock()
	done := occupy(t, s)
	return func() {
		g.mu.Unlock()
		done()
	}
}

func waits(t *testing.T, s *redisstore.Store, n int) {
	t.Helper()
	eventually(t, 10*time.Second, "checks in the queue", func() bool {
		_, _, waiting := s.Queue()
		return waiting == n
	})
}

// gather runs f(0) to f(n-1), which make a check each, so that the checks wait for a call
// together, in this order. It returns when all are done.
func gather(t *testing.T, s *redisstore.Store, g *gate, n int, f func(i int)) {
	t.Helper()
	release := hold(t, s, g)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
		waits(t, s, i+1)
	}
	release()
	wg.Wait()
}
