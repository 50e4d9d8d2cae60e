package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// odd are limits whose numbers once came out as inf, nan, fractions or 1e+06.
var odd = []core.Limit{
	core.PerDay(1), core.Per(1, 30*24*time.Hour), core.Per(3, 7*time.Second), core.PerSecond(1_000_000),
	core.PerHour(1_000_000_000), core.Per(10, 100*time.Millisecond), core.Per(1, 15*time.Second).WithBurst(3),
	core.PerSecond(10_000).WithBurst(1), core.PerSecond(10), core.PerHour(7),
}

func TestStoredValuesAreDigitsThatExpireInTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	for i, limit := range odd {
		for _, burst := range []int64{0, 1, 1_000_000_000} {
			if burst > 0 {
				limit = limit.WithBurst(burst)
			}
			name := fmt.Sprint(limit, " ", burst)
			b := bucket(fmt.Sprint("b", i, "-", burst), limit)
			unit := (limit.Period + time.Duration(limit.Quota) - 1) / time.Duration(limit.Quota)
			spent := int64(0)
			check := func(what string) {
				t.Helper()
				v, _ := server.Do(t, "GET", stored(b)).(string)
				if !digits.MatchString(v) {
					t.Errorf("%s: %s: stored %q", name, what, v)
				}
				ttl := float64(server.Do(t, "PTTL", stored(b)).(int64))
				full := float64(unit) * float64(spent) / 1e6 // in milliseconds, as PTTL
				// The grace is half a second, and reading takes time as well.
				if ttl <= 0 || ttl < full-400 || ttl > 2*full+1000 {
					t.Errorf("%s: %s: it lives %.0f ms and is full in %.0f ms", name, what, ttl, full)
				}
			}
			o := take(t, s, b)[0]
			spent = 1
			check("one")
			if !o.Charged || o.Remaining != limit.Capacity()-1 {
				t.Errorf("%s: first: %+v", name, o)
			}
			if o = take(t, s, b)[0]; o.Charged != (limit.Capacity() > 1) {
				t.Errorf("%s: second: %+v", name, o)
			}
			if err := s.Debit(context.Background(), []core.Bucket{costing(b, limit.Capacity())}); err != nil {
				t.Errorf("%s: debit: %v", name, err)
			}
			spent = limit.Capacity()
			check("all")
		}
	}
}

// Seconds taken for milliseconds would make it 17 minutes, the other way round a fresh bucket
// for a client that only waits a moment.
func TestExpiryIsInMilliseconds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	fast, slow := bucket("fast", core.PerSecond(10)), bucket("slow", core.Per(1, 15*time.Second).WithBurst(3))
	for _, b := range []core.Bucket{fast, slow} {
		start := time.Now()
		take(t, s, costing(b, b.Limit.Capacity()))
		ms, _ := server.Do(t, "PTTL", stored(b)).(int64)
		ttl := time.Duration(ms) * time.Millisecond
		full := b.Limit.Period * time.Duration(b.Limit.Capacity()) / time.Duration(b.Limit.Quota)
		if ttl < full-time.Since(start) || ttl > 2*full+time.Second {
			t.Errorf("%v: it lives %v, want %v to twice that and a second", b.Limit, ttl, full)
		}
	}
}

func TestDenialLeavesValueAndExpiryUntouched(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	// This clock stands still and Redis' own does not, so that anything written anew shows.
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	empty, wide := bucket("empty", core.PerHour(2)), bucket("wide", core.PerHour(100))
	take(t, s, costing(empty, 2), costing(wide, 2))
	state := func() (state string) {
		for _, b := range []core.Bucket{empty, wide} {
			state += fmt.Sprintln(server.Do(t, "GET", stored(b)), server.Do(t, "PEXPIRETIME", stored(b)))
		}
		return state
	}
	before := state()
	time.Sleep(5 * time.Millisecond)
	for _, order := range [][]core.Bucket{{empty}, {empty, wide}, {wide, empty}, {wide, costing(bucket("fresh", core.PerHour(1)), 2)}} {
		if o := take(t, s, order...); o[0].Charged || o[len(o)-1].Charged {
			t.Fatalf("charged: %+v", o)
		}
		peek(t, s, wide)
	}
	if after := state(); after != before {
		t.Errorf("denials made\n%sof\n%s", after, before)
	}
	if n := server.Do(t, "DBSIZE"); n != int64(2) {
		t.Errorf("%v keys, want 2: a denial leaves none of its own", n)
	}
}

func TestFullBucketHasNoKey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	ctx := context.Background()
	buckets := levels("")
	for name, undo := range map[string]func([]core.Outcome) error{
		"refund":             func(out []core.Outcome) error { return s.Refund(ctx, buckets, out) },
		"reset":              func([]core.Outcome) error { return s.Reset(ctx, buckets) },
		"refund, time after": func(out []core.Outcome) error { clock.Advance(time.Hour); return s.Refund(ctx, buckets, out) },
		"reset of nothing": func([]core.Outcome) error {
			if err := s.Reset(ctx, buckets); err != nil {
				return err
			}
			return s.Reset(ctx, buckets)
		},
	} {
		out := take(t, s, buckets...)
		if n := server.Do(t, "DBSIZE"); n != int64(3) {
			t.Errorf("%s: %v keys before, want 3", name, n)
		}
		if err := undo(out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := server.Do(t, "DBSIZE"); n != int64(0) {
			t.Errorf("%s: %v keys after, want none", name, n)
		}
	}
	for _, b := range buckets {
		peek(t, s, b)
	}
	if n := server.Do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("peeks made %v keys", n)
	}
}

// Where the key could be gone before the debt is, an idle client would come back to a full
// bucket. This one runs on the server's clock.
func TestDebtOutlivesIdleTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := bucket("b", core.Per(1, 2*time.Second).WithBurst(2))
	start := time.Now()
	take(t, s, costing(b, 2))
	time.Sleep(1500 * time.Millisecond)
	o := take(t, s, b)[0]
	if time.Since(start) < 2*time.Second && o.Admits {
		t.Errorf("admitted %v after the last was spent, want 2 s", time.Since(start))
	}
	time.Sleep(o.RetryAfter)
	if o := take(t, s, b)[0]; !o.Admits {
		t.Errorf("waiting as told was not enough: %+v", o)
	}
}
