package redisstore_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Whoever asks a hung node for the slot map hangs as well. The map is read on beside them, and what they
// say in the end, which is old by then, does not last.
func TestSlotMapIsReadBesideReadingsThatHang(t *testing.T) {
	t.Parallel()
	before, after := redistest.Start(t), redistest.Start(t)
	var moved atomic.Bool
	var asked atomic.Int32
	hang := make(chan struct{})
	client := redis.NewClusterClient(&redis.ClusterOptions{DialerRetries: 1, ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
		at := before
		if moved.Load() {
			if asked.Add(1) <= 8 {
				<-hang
			} else {
				at = after
			}
		}
		return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: at.Addr()}}}}, nil
	}})
	t.Cleanup(func() { _ = client.Close() })
	release := sync.OnceFunc(func() { close(hang) })
	t.Cleanup(release)
	s, b := open(t, client, redisstore.WithBudget(patient)), bucket("b", core.PerHour(1_000_000))
	at := func(n *redistest.Server) bool { return strings.HasSuffix(n.Addr(), s.Partition(b.Key)) } // the client leaves out this host
	take(t, s, b)
	moved.Store(true)
	before.Kill()
	eventually(t, 10*time.Second, "decisions where the slots are now", func() bool {
		_, err := try(s, b)
		return err == nil && at(after)
	})
	eventually(t, 5*time.Second, "only those that hang", func() bool { under, due := s.Readings(); return under == 8 && !due })
	n := asked.Load()
	release()
	eventually(t, 5*time.Second, "the new map in the end", func() bool { return asked.Load() > n && at(after) })
}
