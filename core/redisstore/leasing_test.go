package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// These are never leased, however hot.
func TestBucketsThatAreNotLeased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	shadow := leased("shadow", core.PerSecond(100_000))
	shadow.Shadow = true
	for name, b := range map[string]core.Bucket{
		"without the option": bucket("plain", core.PerSecond(100_000)),
		"in shadow":          shadow,
		"small":              leased("small", core.PerSecond(100_000).WithBurst(31)),
	} {
		s := open(t, server.Client(t), redisstore.WithBudget(patient))
		for range 500 {
			take(t, s, b)
		}
		if n := s.Leases(); n != 0 {
			t.Errorf("%s: %d leases", name, n)
		}
	}
}

// What comes now and then is not worth a block: asking for it would be a call more, not one less.
func TestSeldomUsedKeyIsNotLeased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := newSteps()
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	server.Do(t, "CONFIG", "RESETSTAT")
	b := leased("b", still)
	for i := range 30 {
		take(t, s, costing(b, 1+int64(i%10)))
		clock.Advance(200 * time.Millisecond)
	}
	if n := calls(t, server); n["evalsha"] != 30 {
		t.Errorf("%d calls for 30 requests", n["evalsha"])
	}
}

func TestLeasesAreBounded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	var most atomic.Int64
	together(64, func(w int) {
		for i := w; i < 3000; i += 64 {
			if o := take(t, s, leased(fmt.Sprint("key", i), still))[0]; !o.Charged {
				t.Errorf("key %d: %+v", i, o)
			}
			most.Store(max(most.Load(), int64(s.Leases())))
		}
	})
	if n := most.Load(); n > 1024 || n < 100 {
		t.Errorf("%d keys had a place", n)
	}
	eventually(t, 10*time.Second, "end of them", func() bool { return s.Leases() == 0 })
}

// A bucket that is all but empty is not asked for blocks all the time, and its last units are to
// be had by requests.
func TestEmptyBucketIsNotAskedForBlocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithDenyCache(0))
	b := leased("b", still)
	heat(t, s, b)
	for take(t, s, b)[0].Charged {
	}
	if o := peek(t, s, b); o.Remaining != 0 {
		t.Errorf("%d left to a single replica that was refused", o.Remaining)
	}
	server.Do(t, "CONFIG", "RESETSTAT")
	for range 200 {
		take(t, s, b)
	}
	if n := calls(t, server)["evalsha"]; n > 205 {
		t.Errorf("%d calls for 200 requests", n)
	}
}

// The limit that counts is the one in force.
func TestChangedLimitEndsTheLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	spent := heat(t, s, b)
	b.Limit.Burst = 2000
	if o := take(t, s, b)[0]; !o.Charged || o.Remaining < 1000 {
		t.Errorf("%+v", o)
	}
	whole(t, s, b, 2000-spent-1)
}

// Whatever a lease held, a caller that is gone and a store that is closed get no answer of it.
func TestLeaseServesNobodyAfterTheEnd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	heat(t, s, b)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Take(ctx, []core.Bucket{b}, make([]core.Outcome, 1)); core.FaultOf(err) != core.FaultCaller {
		t.Errorf("gone caller: %v", err)
	}
	_ = s.Close()
	if _, err := try(s, b); !errors.Is(err, core.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if n := s.Leases(); n != 0 {
		t.Errorf("%d leases after Close", n)
	}
}

// A server that dies takes along what was leased of it, and no more.
func TestKilledServerLosesAtMostTheLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(200*time.Millisecond))
	b, mine := leased("b", still), bucket("mine", still)
	heat(t, s, b)
	idle(t, s) // no block on its way
	server.Kill()
	held := s.Leased(b.Key)
	for range 5 {
		if _, err := try(s, b, mine); err == nil {
			t.Fatal("answered without Redis")
		}
	}
	if now := s.Leased(b.Key); now != held {
		t.Errorf("the lease went from %d to %d with requests that failed", held, now)
	}
	served := int64(0)
	for {
		o, err := try(s, b)
		if err != nil {
			break
		}
		if !o[0].Charged {
			t.Fatalf("%+v", o)
		}
		served++
	}
	if served != held {
		t.Errorf("%d served of a lease of %d", served, held)
	}
	start := time.Now()
	_ = s.Close()
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("Close took %v", took)
	}
}

// One request to a bucket at a time: all that differs with leases is who is asked.
func TestLeasedOutcomesAreThoseOfTheBucket(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", core.Per(1000, 1000*time.Hour))
	start, spent, local := time.Now(), int64(0), 0
	var last, told, cost0 int64 // of the request before
	for spent < 900 {
		before := s.Leased(b.Key)
		cost := 1 + spent%3
		o := take(t, s, costing(b, cost))[0]
		spent += cost
		eventually(t, 10*time.Second, "block", func() bool { return !s.Fetching(b.Key) })
		if before >= 3 {
			local++
		}
		// What is on its way is in neither the block that Redis told of nor in what is left.
		if !o.Admits || !o.Charged || o.Source != core.FromShared || o.RetryAfter != 0 || o.Remaining > 1000-spent+6 || o.Remaining < 1000-spent-1000/16-6 {
			t.Fatalf("after %d: %+v", spent, o)
		}
		if before >= 3 && last >= 3 && before == last-cost0 && o.Remaining != told-cost {
			t.Fatalf("of a lease, %d after %d: %+v", cost, told, o)
		}
		last, told, cost0 = before, o.Remaining, cost
		if o.ResetAfter > time.Hour || o.ResetAfter < time.Hour-time.Since(start) {
			t.Fatalf("the next unit is back in %v", o.ResetAfter)
		}
	}
	if local < 300 {
		t.Errorf("%d requests of a lease", local)
	}
}

func TestRequestOfALeaseCostsNoAllocation(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b, out := []core.Bucket{leased("a", core.Per(1_000_000_000, 10_000*time.Hour))}, make([]core.Outcome, 1)
	heat(t, s, b[0])
	for start := time.Now(); s.Leased(b[0].Key) < 500; take(t, s, b...) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("no block is above 500")
		}
	}
	if n := testing.AllocsPerRun(400, func() { _ = s.Take(context.Background(), b, out) }); n != 0 || !out[0].Charged {
		t.Errorf("%v allocations, %+v", n, out[0])
	}
}

// BenchmarkLeased is a request that a lease answers for.
func BenchmarkLeased(b *testing.B) {
	server := redistest.Start(b)
	s := open(b, server.Client(b), redisstore.WithBudget(patient))
	buckets, out := []core.Bucket{leased("a", core.Per(1_000_000_000_000, 1000*time.Hour))}, make([]core.Outcome, 1)
	heat(b, s, buckets[0])
	server.Do(b, "CONFIG", "RESETSTAT")
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Take(context.Background(), buckets, out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(calls(b, server)["evalsha"])/float64(b.N), "calls/op")
}

// A service that ends while it is busy: no answer of a lease after Close, and nothing left behind.
func TestCloseDuringLeasedRequests(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	for i := range 10 {
		s := open(t, client, redisstore.WithBudget(patient))
		b := leased(fmt.Sprint("b", i), core.Per(1_000_000, 10_000*time.Hour))
		heat(t, s, b)
		var charged atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			together(8, func(int) {
				for {
					o, err := try(s, b)
					if errors.Is(err, core.ErrClosed) {
						return
					}
					if err != nil || !o[0].Charged {
						t.Errorf("%+v, error %v", o, err)
						return
					}
					charged.Add(1)
				}
			})
		}()
		time.Sleep(3 * time.Millisecond)
		_ = s.Close()
		<-done
		idle(t, s)
		if n := s.Leases(); n != 0 {
			t.Errorf("%d leases after Close", n)
		}
	}
}

// What is told is what Redis held when the block was charged, what of the block is left, and what has
// refilled since: no less, and more only by what was charged beside it.
func TestRemainingOfALease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	for i := range 5 {
		b := leased(fmt.Sprint("b", i), core.PerHour(1000))
		heat(t, s, b)
		idle(t, s)
		held, left := s.Leased(b.Key), peek(t, s, b).Remaining
		for n := range int64(3) {
			o := take(t, s, costing(b, 2))[0]
			if want := held + left - 2*(n+1) + n; o.Remaining < want || o.Remaining > want+20 || o.ResetAfter != 3600*time.Millisecond {
				t.Errorf("%+v, want %d left", o, want)
			}
			clock.Advance(3600 * time.Millisecond)
		}
	}
}
