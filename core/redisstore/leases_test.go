package redisstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// still is a limit that gives nothing back while a test lasts.
var still = core.Per(1000, 10_000*time.Hour)

func leased(key string, l core.Limit) core.Bucket {
	b := bucket(key, l)
	b.Lease = true
	return b
}

// heat takes single units until the store has a lease that holds some, and returns how many. On a slow machine one
// caller alone would not be worth a block of so many.
func heat(t testing.TB, s *redisstore.Store, b core.Bucket) int64 {
	t.Helper()
	var taken atomic.Int64
	eventually(t, 10*time.Second, "lease", func() bool {
		together(8, func(int) {
			if o := take(t, s, b)[0]; o.Charged {
				taken.Add(1)
			} else {
				t.Errorf("refused: %+v", o)
			}
		})
		return s.Leased(b.Key) >= 20 || t.Failed()
	})
	return taken.Load()
}

// whole waits until a bucket holds n units again in Redis.
func whole(t testing.TB, s *redisstore.Store, b core.Bucket, n int64) {
	t.Helper()
	eventually(t, 10*time.Second, "units given back", func() bool { return peek(t, s, b).Remaining >= n })
	time.Sleep(20 * time.Millisecond)
	if o := peek(t, s, b); o.Remaining != n {
		t.Errorf("%d units, want %d", o.Remaining, n)
	}
}

func TestHotLeasedKeyAsksRedisSeldom(t *testing.T) {
	t.Parallel()
	const n = 20_000
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", core.PerSecond(1_000_000))
	heat(t, s, b)
	server.Do(t, "CONFIG", "RESETSTAT")
	for range n {
		if o := take(t, s, b)[0]; !o.Charged || o.Source != core.FromShared {
			t.Fatalf("%+v", o)
		}
	}
	asked := calls(t, server)["evalsha"]
	t.Logf("%d calls for %d requests", asked, n)
	if asked > n/10 {
		t.Errorf("%d calls for %d requests", asked, n)
	}
}

// A request pays for what others do not lease as ever, and Redis is told of those alone.
func TestOtherBucketsOfALeasedRequestAreCharged(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b, mine, shadow := leased("b", still), bucket("mine", still), bucket("shadow", still)
	shadow.Shadow = true
	heat(t, s, b)
	held := s.Leased(b.Key)
	server.Do(t, "CONFIG", "RESETSTAT")
	for i := range int64(10) {
		o := take(t, s, mine, b, shadow)
		if !o[0].Charged || !o[1].Charged || !o[2].Charged || o[0].Remaining != 999-i || o[2].Remaining != 999-i {
			t.Errorf("%+v", o)
		}
	}
	if n := calls(t, server); n["evalsha"] != 10 || n["incrby"]+n["set"] > 20 {
		t.Errorf("%v for 10 requests of two buckets", n)
	}
	if now := s.Leased(b.Key); now != held-10 {
		t.Errorf("the lease went from %d to %d with 10 requests", held, now)
	}
}

// What a lease spends was charged before, so no number of replicas admits more than there is. What
// they keep from each other is a sixteenth for each.
func TestLeasesNeverAdmitMoreThanThereIs(t *testing.T) {
	t.Parallel()
	for name, others := range map[string][]core.Bucket{"alone": nil, "beside another": {bucket("beside", core.PerSecond(1_000_000))}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			b := leased("b", still)
			var admitted, local atomic.Int64
			stores := make([]*redisstore.Store, 4)
			for i := range stores {
				stores[i] = open(t, server.Client(t), redisstore.WithBudget(patient))
			}
			together(16, func(i int) {
				s := stores[i%len(stores)]
				for take(t, s, append([]core.Bucket{b}, others...)...)[0].Charged {
					admitted.Add(1)
					switch n := s.Leased(b.Key); {
					case n > 1000/16:
						t.Errorf("a replica holds %d of 1000", n)
					case n > 0:
						local.Add(1)
					}
				}
			})
			first := admitted.Load()
			if first > 1000 || first < 1000-4*1000/16 {
				t.Errorf("%d of 1000 admitted, want 750 at least", first)
			}
			if local.Load() == 0 {
				t.Error("nothing was leased")
			}
			for _, s := range stores {
				s.Close()
			}
			fresh := open(t, server.Client(t), redisstore.WithBudget(patient))
			if o := peek(t, fresh, b); o.Remaining != 1000-first {
				t.Errorf("%d left after %d of 1000, once nothing is leased", o.Remaining, first)
			}
			t.Logf("%d admitted", first)
		})
	}
}

// Time that has passed since a block was charged has paid for it. To spend it then would come on top.
func TestLeaseEndsWhenItsUnitsHaveRefilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := newSteps()
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	other := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	b := leased("b", core.PerHour(1000))
	for s.Leased(b.Key) < 50 {
		if o := take(t, s, b)[0]; !o.Charged {
			t.Fatalf("refused: %+v", o)
		}
	}
	clock.Advance(1000 / 16 * 3600 * time.Millisecond) // the longest block's; half of it would not do
	if n := s.Leased(b.Key); n > 0 {
		t.Errorf("%d units of a lease are left when all of its block have refilled", n)
	}
	clock.Advance(1000 * time.Hour)
	take(t, other, costing(b, 1000))
	if o := take(t, s, b)[0]; o.Charged {
		t.Errorf("admitted beyond a full bucket: %+v", o)
	}
}

// A request that another bucket refuses costs a lease nothing.
func TestRefusalElsewhereReturnsTheReserve(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, age := range map[string]time.Duration{"asking": 0, "remembering": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithDenyCache(age), redisstore.WithPrefix(name))
			b, empty := leased("b", still), bucket("empty", core.Per(1, 10_000*time.Hour))
			exhaust(t, s, empty)
			heat(t, s, b)
			held := s.Leased(b.Key)
			before := take(t, s, b)[0]
			for range 100 {
				o := take(t, s, b, empty)
				if !o[0].Admits || o[0].Charged || o[0].Remaining != before.Remaining || o[0].Receipt != (core.Receipt{}) || o[1].Admits {
					t.Fatalf("%+v", o)
				}
			}
			if now := s.Leased(b.Key); now != held-1 {
				t.Errorf("the lease went from %d to %d with one admitted request", held, now)
			}
		})
	}
}

func TestUnspentUnitsAreBackAfterClose(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, other := open(t, server.Client(t), redisstore.WithBudget(patient)), open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	spent := heat(t, s, b)
	if o := peek(t, other, b); o.Remaining >= 1000-spent {
		t.Fatalf("%d left to others after %d: nothing is leased", o.Remaining, spent)
	}
	_ = s.Close()
	if o := peek(t, other, b); o.Remaining != 1000-spent {
		t.Errorf("%d left after %d of 1000", o.Remaining, spent)
	}
}

// A lease that nobody spends from is given up, and so is its key's place.
func TestIdleLeaseIsGivenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, other := open(t, server.Client(t), redisstore.WithBudget(patient)), open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	spent := heat(t, s, b)
	whole(t, other, b, 1000-spent)
	eventually(t, time.Second, "end of the lease", func() bool { return s.Leases() == 0 })
}

// So is one whose time is over, long before it is idle.
func TestEndedLeaseIsGivenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, other := open(t, server.Client(t), redisstore.WithBudget(patient)), open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", core.Per(2000, 10*time.Second)) // a block of 125 lasts 625 ms
	take(t, s, costing(b, 1500))                     // so that there is a debt to give back of
	start := time.Now()
	spent := heat(t, s, b)
	eventually(t, 10*time.Second, "end", func() bool { return s.Leased(b.Key) == 0 })
	refilled := func() int64 { return int64(time.Since(start) / (5 * time.Millisecond)) }
	eventually(t, 10*time.Second, "units given back", func() bool { return peek(t, other, b).Remaining >= 500-spent+refilled()-4 })
	if o := peek(t, other, b); o.Remaining > 500-spent+refilled()+1 {
		t.Errorf("%d left after %d of 500 and %d refilled", o.Remaining, spent, refilled())
	}
}

// After a reset the bucket is full: a lease would come on top, and giving it back would give away
// what others are charged from then on.
func TestResetDropsTheLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, other := open(t, server.Client(t), redisstore.WithBudget(patient)), open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	heat(t, s, b)
	reset(t, s, b)
	if n := s.Leased(b.Key); n != 0 {
		t.Errorf("%d units are leased after a reset", n)
	}
	take(t, other, costing(b, 1000))
	if o := take(t, s, b)[0]; o.Charged {
		t.Errorf("admitted of an empty bucket: %+v", o)
	}
	_ = s.Close()
	if o := peek(t, other, b); o.Remaining != 0 {
		t.Errorf("%d left of 1000 after 1000", o.Remaining)
	}
}

// Resets, requests and blocks on their way at once: from the last reset on there is one capacity.
func TestResetDuringFetches(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	for round := range 30 {
		var stop atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			together(4, func(int) {
				for !stop.Load() {
					_, _ = try(s, b)
				}
			})
		}()
		time.Sleep(time.Duration(round%5) * time.Millisecond)
		for range 20 {
			reset(t, s, b)
		}
		stop.Store(true)
		<-done
		reset(t, s, b)
		admitted := 0
		for take(t, s, b)[0].Charged {
			admitted++
		}
		if admitted > 1000 {
			t.Fatalf("round %d: %d admitted of 1000", round, admitted)
		}
		time.Sleep(2 * time.Millisecond) // no denial is remembered that is older
		reset(t, s, b)
	}
}

func TestCostAboveTheLeaseIsAskedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	spent := heat(t, s, b)
	held := s.Leased(b.Key)
	if o := take(t, s, costing(b, 500))[0]; !o.Charged || o.Remaining < 500-spent-1000/16 {
		t.Errorf("%+v", o)
	}
	if now := s.Leased(b.Key); now != held {
		t.Errorf("the lease went from %d to %d", held, now)
	}
	if o := take(t, s, costing(b, 1001))[0]; o.Admits {
		t.Errorf("1001 of 1000: %+v", o)
	}
}

func TestRefundOfALeasedChargeGoesToRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	heat(t, s, b)
	o := take(t, s, costing(b, 5))
	before := peek(t, s, b).Remaining
	if err := s.Refund(context.Background(), []core.Bucket{costing(b, 5)}, o); err != nil {
		t.Fatal(err)
	}
	if after := peek(t, s, b).Remaining; after != before+5 {
		t.Errorf("from %d to %d with a refund of 5", before, after)
	}
}

// Of a block, time pays for the units that were spent first. To refund those as if they were the last
// would give back what others were charged.
func TestRefundsOfALeaseGiveBackWhatTimeHasNot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	other := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	b := leased("b", core.PerHour(1000))
	var charged [][]core.Outcome
	for s.Leased(b.Key) < 20 {
		charged = append(charged, take(t, s, b))
	}
	for range 18 {
		charged = append(charged, take(t, s, b))
	}
	idle(t, s)
	held := s.Leased(b.Key)
	take(t, other, costing(b, 100))
	clock.Advance(time.Duration(len(charged)-5) * 3600 * time.Millisecond)
	for _, o := range charged {
		if err := s.Refund(context.Background(), []core.Bucket{b}, o); err != nil {
			t.Fatal(err)
		}
	}
	if o := peek(t, other, b); o.Remaining != 1000-100-held {
		t.Errorf("%d left, want 1000 less the %d leased and another's 100", o.Remaining, held)
	}
}
