package fallback_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Where the slot map was never read, requests wait no more for it than for a node that hangs.
func TestServesBeforeAClusterWasEverThere(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartPrimaries(t, 3)
	for _, n := range cluster.Nodes() {
		n.Stop()
	}
	for name, options := range map[string]redis.ClusterOptions{
		"default": {},
		"context": {ContextTimeoutEnabled: true},
	} {
		t.Run(name, func(t *testing.T) {
			options.Addrs = cluster.Addrs()
			client := redis.NewClusterClient(&options)
			s := wrap(t, redisstore.Must(client, redisstore.WithBudget(budget)))
			t.Cleanup(func() { _ = client.Close() })
			l := limiter(t, s, core.PerUser(core.PerSecond(100_000)))
			seen := load(l, 1500*time.Millisecond)
			if seen.refused+seen.shared > 0 {
				t.Errorf("%d of %d refused, %d shared", seen.refused, seen.requests, seen.shared)
			}
			eventually(t, "the breaker opens", 2*time.Second, func() bool { return source(l) == core.FromLocal && s.Health().Degraded })
			if !raceEnabled && (seen.waited > 30 || seen.slowest > budget+50*time.Millisecond+seen.stalled) {
				t.Errorf("%d of %d requests waited, the longest %v", seen.waited, seen.requests, seen.slowest)
			}
			for _, n := range cluster.Nodes() {
				n.Cont()
			}
			back := eventually(t, "decisions are shared", backWithin, func() bool { return source(l) == core.FromShared })
			t.Logf("%d of %d requests waited, the longest %v; back after %v", seen.waited, seen.requests, seen.slowest, back)
			for _, n := range cluster.Nodes() {
				n.Stop()
			}
		})
	}
}
