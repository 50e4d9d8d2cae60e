package redisstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// exhaust leaves a bucket without a unit, and the store knowing it.
func exhaust(t testing.TB, s core.Store, b core.Bucket) core.Outcome {
	t.Helper()
	take(t, s, costing(b, b.Limit.Capacity()))
	o := take(t, s, b)[0]
	if o.Admits || o.Source != core.FromShared {
		t.Fatalf("an exhausted bucket answers %+v", o)
	}
	return o
}

func TestDenialIsRememberedUntilAUnitIsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	b := bucket("b", core.Per(10, 2*time.Second)) // a unit each 200 ms
	exhaust(t, s, b)
	server.Do(t, "CONFIG", "RESETSTAT")
	for i := range 10 {
		o := take(t, s, b)[0]
		want := core.Outcome{Source: core.FromCache, RetryAfter: 200*time.Millisecond - time.Duration(i)*20*time.Millisecond}
		want.ResetAfter = want.RetryAfter
		if o != want {
			t.Errorf("after %d ms: %+v, want %+v", 20*i, o, want)
		}
		if o := take(t, s, costing(b, 3))[0]; o.RetryAfter != want.RetryAfter+400*time.Millisecond || o.Source != core.FromCache {
			t.Errorf("3 units after %d ms: %+v", 20*i, o)
		}
		clock.Advance(20*time.Millisecond - 1)
		if i == 9 && take(t, s, b)[0].Admits {
			t.Error("admitted a nanosecond early")
		}
		clock.Advance(1)
	}
	if n := calls(t, server)["evalsha"]; n != 0 {
		t.Errorf("%d calls for denials that were known", n)
	}
	if o := take(t, s, b)[0]; !o.Charged || o.Source != core.FromShared {
		t.Errorf("when a unit is back: %+v", o)
	}
}

func TestDenialIsForgottenAfterItsAge(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{0, 100 * time.Millisecond, time.Second} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			clock := new(storetest.Clock)
			s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now), redisstore.WithDenyCache(age))
			b := bucket("b", core.PerHour(1))
			exhaust(t, s, b)
			reset(t, open(t, server.Client(t), redisstore.WithBudget(patient)), b) // by another replica
			if age > 0 {
				clock.Advance(age - 1)
				if o := take(t, s, b)[0]; o.Admits || o.Source != core.FromCache {
					t.Errorf("within the age: %+v", o)
				}
				clock.Advance(1)
			}
			if o := take(t, s, b)[0]; !o.Charged {
				t.Errorf("after the age: %+v", o)
			}
		})
	}
}

// dawdling is a client whose requests are long on their way.
type dawdling struct{ redisstore.Client }

func (d dawdling) Process(ctx context.Context, cmd redis.Cmder) error {
	time.Sleep(30 * time.Millisecond)
	return d.Client.Process(ctx, cmd)
}

// Nobody knows when exactly Redis read its clock, so what a client is told errs to the long side
// and what it is refused for to the short one.
func TestWaitToldByARememberedDenialIsEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	far := open(t, dawdling{server.Client(t)}, redisstore.WithBudget(patient))
	near := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := bucket("b", core.Per(1, 500*time.Millisecond))
	exhaust(t, far, b)
	o := take(t, far, b)[0]
	if o.Source != core.FromCache {
		t.Fatalf("not remembered: %+v", o)
	}
	time.Sleep(o.RetryAfter)
	if o := take(t, near, b)[0]; !o.Charged {
		t.Errorf("after the wait that was told: %+v", o)
	}
}

// What gives units back through the same store is seen by the very next request.
func TestDenialEndsWithResetAndRefund(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := bucket("b", core.PerHour(5))
	charged := take(t, s, costing(b, 5))
	take(t, s, b)
	if o := take(t, s, b)[0]; o.Source != core.FromCache {
		t.Fatalf("not remembered: %+v", o)
	}
	if err := s.Refund(context.Background(), []core.Bucket{costing(b, 2)}, charged); err != nil {
		t.Fatal(err)
	}
	if o := take(t, s, costing(b, 2))[0]; !o.Charged {
		t.Errorf("after a refund of 2: %+v", o)
	}
	take(t, s, b)
	reset(t, s, b)
	if o := take(t, s, b)[0]; !o.Charged || o.Remaining != 4 {
		t.Errorf("after a reset: %+v", o)
	}
}

// A denial that was on its way while a reset came in between must not be remembered.
func TestDenialOnItsWayDuringAResetIsNotRemembered(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := bucket("b", core.PerHour(1))
	exhaust(t, s, b)
	var admitted atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(4, func(int) {
			for ctx.Err() == nil {
				if o, err := try(s, b); err == nil && o[0].Charged {
					admitted.Add(1)
				}
			}
		})
	}()
	for range 200 {
		before := admitted.Load()
		reset(t, s, b)
		o := take(t, s, b)[0]
		for wait := time.Now(); !o.Charged && admitted.Load() == before; runtime.Gosched() {
			if time.Since(wait) > 5*time.Second {
				t.Fatalf("after a reset nobody was admitted: %+v", o)
			}
		}
	}
	stop()
	<-done
}

// A bucket that holds some units, but too few, admits a request that needs fewer.
func TestDenialOfACostIsNoDenialOfALowerOne(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := bucket("b", core.PerHour(5))
	take(t, s, costing(b, 3))
	for _, from := range []core.Source{core.FromShared, core.FromCache, core.FromCache} {
		if o := take(t, s, costing(b, 3))[0]; o.Admits || o.Source != from || o.Remaining != 2 {
			t.Errorf("3 of 2: %+v, want it from %v", o, from)
		}
	}
	if o := take(t, s, costing(b, 2))[0]; !o.Charged {
		t.Errorf("2 of 2: %+v", o)
	}
	if o := take(t, s, costing(b, 3))[0]; o.Admits || o.Source != core.FromCache || o.Remaining != 0 {
		t.Errorf("3 of 0: %+v", o)
	}
}

// The limit that counts is the one in force.
func TestRaisedLimitIsNotHeldBackByADenial(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	low := bucket("b", core.PerHour(1))
	exhaust(t, s, low)
	high := low
	high.Limit = core.PerHour(2) // the debt of an hour is one unit of half an hour more
	high.Limit.Burst = 4
	if o := take(t, s, high)[0]; !o.Charged {
		t.Fatalf("under a higher limit: %+v", o)
	}
	reset(t, s, low)
	exhaust(t, s, low)
	low.Limit = core.PerSecond(1)
	if o := take(t, s, low)[0]; o.Source != core.FromShared || o.RetryAfter > time.Second {
		t.Errorf("under a limit that an hour's debt is too much for: %+v", o)
	}
}

// Of the other buckets of a request is told what was owed when one was found empty, or nothing.
func TestOtherBucketsOfARememberedDenial(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	shared, mine, other := bucket("shared", core.PerHour(2)), bucket("mine", core.PerHour(10)), bucket("other", core.PerHour(10))
	take(t, s, shared, mine)
	take(t, s, shared, mine)
	take(t, s, shared, mine) // refused
	got := take(t, s, shared, mine)
	if got[0].Admits || got[0].Source != core.FromCache || !got[1].Admits || got[1].Charged || got[1].Remaining != 8 || got[1].Skipped {
		t.Errorf("the same request again: %+v", got)
	}
	got = take(t, s, other, shared)
	if got[1].Admits || got[1].Source != core.FromCache || !got[0].Skipped || got[0].Charged {
		t.Errorf("another caller's: %+v", got)
	}
	if o := peek(t, s, mine); o.Remaining != 8 || o.Source != core.FromShared {
		t.Errorf("after all that: %+v", o)
	}
}

// A bucket in shadow is charged even where the request is refused, so Redis has to be asked.
func TestShadowBucketIsChargedBehindARememberedDenial(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b, shadow := bucket("b", core.PerHour(1)), bucket("shadow", core.PerHour(10))
	shadow.Shadow = true
	exhaust(t, s, b)
	for i := range 3 {
		if o := take(t, s, b, shadow); o[0].Admits || !o[1].Charged || o[1].Remaining != int64(9-i) {
			t.Errorf("request %d: %+v", i+1, o)
		}
	}
}

// However many keys are refused, few are remembered, and none is admitted for it.
func TestMemoryOfDenialsIsBounded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithDenyCache(time.Minute))
	const keys = 20_000
	refused := func(i int) core.Bucket { return bucket(fmt.Sprint("key", i), core.PerHour(1)) }
	together(64, func(w int) {
		for i := w; i < keys; i += 64 {
			take(t, s, refused(i))
			take(t, s, refused(i))
		}
	})
	var remembered atomic.Int64
	together(64, func(w int) {
		for i := w; i < keys; i += 64 {
			switch o := take(t, s, refused(i))[0]; {
			case o.Admits:
				t.Errorf("key %d is admitted", i)
			case o.Source == core.FromCache:
				remembered.Add(1)
			}
		}
	})
	if n := remembered.Load(); n > 1<<14 || n == 0 {
		t.Errorf("%d of %d keys were remembered", n, keys)
	}
}

func TestRememberedDenialCostsNoAllocation(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b, out := []core.Bucket{bucket("a", core.PerHour(5)), bucket("b", core.PerHour(1))}, make([]core.Outcome, 2)
	exhaust(t, s, b[1])
	if n := testing.AllocsPerRun(1000, func() { _ = s.Take(context.Background(), b, out) }); n != 0 || out[1].Source != core.FromCache {
		t.Errorf("%v allocations, answered %v", n, out[1].Source)
	}
}
