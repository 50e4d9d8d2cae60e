package redisstore_test

import (
	"context"
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

// A shard that hangs holds up nobody who does not need it. Of a caller who needs it and leaves, the other
// shard keeps no charge.
func TestRingWithAShardThatHangs(t *testing.T) {
	t.Parallel()
	servers := []*redistest.Server{redistest.Start(t), redistest.Start(t)}
	addrs := map[string]string{"a": servers[0].Addr(), "b": servers[1].Addr()}
	r := redis.NewRing(&redis.RingOptions{Addrs: addrs, HeartbeatFrequency: time.Hour}) // it takes none for down
	t.Cleanup(func() { _ = r.Close() })
	s := open(t, r, redisstore.WithBudget(patient))
	take(t, s, bucket("map", core.PerHour(1000)))
	var both []core.Bucket // on a shard each
	for i := 0; len(both) < 2; i++ {
		if b := bucket(fmt.Sprint("b", i), core.PerHour(100)); s.Partition(b.Key) == servers[len(both)].Addr() {
			both = append(both, b)
		}
	}
	take(t, s, both...)
	servers[1].Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.Take(ctx, both, make([]core.Outcome, 2))
	if err == nil || core.FaultOf(err) != core.FaultCaller {
		t.Errorf("error %v, want the caller's", err)
	}
	start := time.Now()
	take(t, s, both[0])
	if took := time.Since(start); took > patient/2 {
		t.Errorf("the other shard took %v", took)
	}
	servers[1].Cont()
	idle(t, s)
	for i, want := range []int64{98, 99} {
		if left := peek(t, s, both[i]).Remaining; left != want {
			t.Errorf("%d left of bucket %d, want %d", left, i, want)
		}
	}
}
