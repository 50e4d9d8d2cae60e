package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func ring(t *testing.T, servers ...*redistest.Server) *redis.Ring {
	t.Helper()
	addrs := map[string]string{}
	for i, s := range servers {
		addrs[fmt.Sprint("shard", i)] = s.Addr()
	}
	r := redis.NewRing(&redis.RingOptions{Addrs: addrs, HeartbeatFrequency: 50 * time.Millisecond})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestContractOverARing(t *testing.T) {
	t.Parallel()
	servers := []*redistest.Server{redistest.Start(t), redistest.Start(t), redistest.Start(t)}
	client := ring(t, servers...)
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) core.Store {
		for _, s := range servers {
			s.Do(t, "FLUSHALL")
		}
		return redisstore.Must(client, redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	})
}

// A shard that is down fails its own keys until the client gives them to others, and gets them back
// when it is there again.
func TestRingFollowsItsShards(t *testing.T) {
	t.Parallel()
	servers := []*redistest.Server{redistest.Start(t), redistest.Start(t)}
	s := open(t, ring(t, servers...), redisstore.WithBudget(500*time.Millisecond))
	b := make([]core.Bucket, 40)
	for i := range b {
		b[i] = bucket(fmt.Sprint("b", i), core.PerHour(1000))
		take(t, s, b[i])
	}
	on := map[string]int{}
	for i := range b {
		on[s.Partition(b[i].Key)]++
	}
	if on[servers[0].Addr()] < 5 || on[servers[1].Addr()] < 5 {
		t.Fatalf("40 keys lie on %v", on)
	}
	servers[0].Kill()
	for i := range b {
		_, err := try(s, b[i])
		if (err != nil) != (s.Partition(b[i].Key) == servers[0].Addr()) {
			t.Logf("key %d of %s: %v", i, s.Partition(b[i].Key), err) // it may have moved just now
		}
	}
	eventually(t, 10*time.Second, "decisions about every key", func() bool {
		for i := range b {
			if _, err := try(s, b[i]); err != nil {
				return false
			}
		}
		return true
	})
	servers[0].Restart()
	eventually(t, 10*time.Second, "keys on the shard that is back", func() bool {
		back := 0
		for i := range b {
			if _, err := try(s, b[i]); err == nil && s.Partition(b[i].Key) == servers[0].Addr() {
				back++
			}
		}
		return back == on[servers[0].Addr()]
	})
}
