package memstore_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// A clock read before the lock would let a slow goroutine set the bucket back in time, and each
// one behind it refill again.
func TestHammeredBucketKeepsItsRate(t *testing.T) {
	s := memstore.New()
	defer s.Close()
	b := bucket("one", core.PerSecond(10).WithBurst(1), 1)
	var admitted atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range 64 {
		all.Go(func() {
			for time.Since(start) < 2*time.Second {
				if take(t, s, b)[0].Admits {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	most := 1 + int64(time.Since(start)/(100*time.Millisecond))
	if got := admitted.Load(); got > most || got < 15 {
		t.Errorf("%d admitted in %v, want at most %d", got, time.Since(start), most)
	}
}

// The same with a clock that moves a millisecond each time it is read, and that makes each reader
// dawdle: no reading may be older than what is stored, however long its goroutine waited.
func TestSlowReadersOfTheClockRefillNothing(t *testing.T) {
	var reads atomic.Int64
	s := open(t, memstore.WithClock(func() time.Time {
		now := time.Unix(0, reads.Add(1)*int64(time.Millisecond))
		for range reads.Load() % 7 {
			runtime.Gosched()
		}
		return now
	}))
	b := bucket("one", core.PerSecond(100).WithBurst(1), 1)
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 200 {
				if take(t, s, b)[0].Admits {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got, most := admitted.Load(), 1+reads.Load()/10; got > most {
		t.Errorf("%d admitted in %d ms at 100/s, want at most %d", got, reads.Load(), most)
	}
}

func TestClockThatStepsBackRefillsNothing(t *testing.T) {
	s, c := frozen(t)
	c.advance(time.Minute)
	b := bucket("one", core.PerSecond(1), 1)
	for i, step := range []time.Duration{100 * time.Millisecond, -100 * time.Millisecond, 100 * time.Millisecond} {
		c.advance(step)
		if got := take(t, s, b)[0].Admits; got != (i == 0) {
			t.Errorf("call %d: admitted is %v", i+1, got)
		}
	}
}

// Requests that name the same buckets in opposite orders do not wait for one another for ever.
func TestOppositeOrdersDoNotDeadlock(t *testing.T) {
	s, _ := frozen(t)
	a, b, c := bucket("a", core.PerHour(1e6), 1), bucket("b", core.PerHour(1e6), 1), bucket("c", core.PerHour(1e6), 1)
	done := make(chan struct{})
	var all sync.WaitGroup
	for _, order := range [][]core.Bucket{{a, b, c}, {c, b, a}, {b, c, a}, {a, c, b}} {
		all.Go(func() {
			for range 30_000 {
				take(t, s, order...)
			}
		})
	}
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("deadlock")
	}
	if got := peek(t, s, a).Remaining; got != 1e6-120_000 {
		t.Errorf("%d left", got)
	}
}

// Requests lock many shards each, in every order, with room and without: they never deadlock and
// never lose or invent a charge.
func TestConcurrentRequestsChargeExactly(t *testing.T) {
	for _, opts := range [][]memstore.Option{nil, {memstore.WithMaxEntries(256)}} {
		s, _ := frozen(t, opts...)
		const keys, workers, each = 40, 16, 200
		limit := core.PerHour(100)
		buckets := make([]core.Bucket, keys)
		for i := range buckets {
			buckets[i] = bucket(fmt.Sprint("key", i), limit, 1)
			buckets[i].Level = fmt.Sprint("level", i) // each its own overflow bucket
		}
		charged := make([]atomic.Int64, keys)
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(w), 3))
				for range each {
					order := rng.Perm(keys)[:1+rng.IntN(10)]
					b := make([]core.Bucket, len(order))
					for i, k := range order {
						b[i] = buckets[k]
					}
					for i, o := range take(t, s, b...) {
						if o.Charged {
							charged[order[i]].Add(1)
						}
					}
				}
			})
		}
		all.Wait()
		for i := range buckets {
			if got, want := peek(t, s, buckets[i]).Remaining, 100-charged[i].Load(); got != want {
				t.Errorf("key %d: %d left, want %d", i, got, want)
			}
		}
	}
}
