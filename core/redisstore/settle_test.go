package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// settle charges one bucket the time of some of its units.
func settle(t testing.TB, s *redisstore.Store, id string, b core.Bucket, units int64) {
	t.Helper()
	if err := s.DebitOnce(t.Context(), id, owed(units, b)); err != nil {
		t.Fatalf("DebitOnce: %v", err)
	}
}

func owed(units int64, buckets ...core.Bucket) (all []core.Owed) {
	for _, b := range buckets {
		all = append(all, core.Owed{Bucket: b, Time: time.Duration(units) * unit(b.Limit)})
	}
	return all
}

func unit(l core.Limit) time.Duration {
	return (l.Period + time.Duration(l.Quota) - 1) / time.Duration(l.Quota)
}

// What is stored is exactly the instant that the charge makes of it, to the nanosecond: never above
// the capacity, never lower than it was, and it lives until it says nothing and at most a second longer.
func TestSettlementIsExact(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		limit := odd[i%len(odd)].WithBurst(1 + rnd.Int64N(50))
		b := bucket(fmt.Sprint("b", i), limit)
		capacity := unit(limit) * time.Duration(limit.Burst)
		clock.Advance(time.Duration(rnd.Int64N(int64(time.Second))))
		debt := time.Duration(0)
		if rnd.IntN(3) > 0 {
			debt = time.Duration(rnd.Int64N(int64(capacity) + 1))
			server.Do(t, "SET", stored(b), clock.Now().Add(debt).UnixNano())
		}
		charge := time.Duration(rnd.Int64N(int64(capacity) + 1))
		if err := s.DebitOnce(t.Context(), fmt.Sprint("id", i), []core.Owed{{Bucket: b, Time: charge}}); err != nil {
			t.Fatal(err)
		}
		after := min(debt+charge, capacity)
		got, _ := server.Do(t, "GET", stored(b)).(string)
		if want := fmt.Sprint(clock.Now().Add(after).UnixNano()); after > 0 && got != want {
			t.Errorf("%v: owed %v and %v: stored %q, want %s", limit, debt, charge, got, want)
		}
		ttl := server.Do(t, "PTTL", stored(b)).(int64)
		if full := after.Milliseconds(); ttl > full+1000 || ttl < full-50 {
			t.Errorf("%v: it lives %d ms and is full in %v", limit, ttl, after)
		}
	}
}

func TestSettlementIsChargedOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := bucket("b", core.PerDay(100))
	for range 3 {
		settle(t, s, "one", b, 30)
	}
	if o := peek(t, s, b); o.Remaining != 70 {
		t.Errorf("%d left of 100 after one charge of 30, made three times", o.Remaining)
	}
	settle(t, s, "two", b, 30)
	if o := peek(t, s, b); o.Remaining != 40 {
		t.Errorf("%d left of 100 after two charges of 30", o.Remaining)
	}
	settle(t, s, "three", b, 90)
	if o := peek(t, s, b); o.Remaining != 0 || o.RetryAfter > unit(b.Limit) {
		t.Errorf("after more than there is: %+v, want an empty bucket", o)
	}
	for _, key := range server.Do(t, "KEYS", "tierlimit:settled:*").([]any) {
		if ms := server.Do(t, "PTTL", key).(int64); ms <= 0 || ms > core.SettleMemory.Milliseconds() {
			t.Errorf("%v is remembered for %d ms", key, ms)
		}
	}
}

// A reply that is lost leaves it open whether the charge was made, so it is made again.
func TestSettlementWhoseReplyIsLostIsChargedOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []redistest.Mode{redistest.SwallowReplies, redistest.HalfReply, redistest.BlackHole} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.StartProxy(t, server.Addr())
			s := open(t, connect(t, proxy.Addr(), nil))
			b := bucket("b", core.PerDay(100))
			settle(t, s, "first", b, 1)
			proxy.SetMode(mode)
			if err := s.DebitOnce(t.Context(), "id", owed(10, b)); err == nil || core.FaultOf(err) != core.FaultStore {
				t.Errorf("error %v, want the store's", err)
			}
			proxy.Heal()
			eventually(t, 10*time.Second, "charge", func() bool { return s.DebitOnce(t.Context(), "id", owed(10, b)) == nil })
			if o := peek(t, open(t, server.Client(t), redisstore.WithBudget(patient)), b); o.Remaining != 89 {
				t.Errorf("%d left of 100, want 89", o.Remaining)
			}
		})
	}
}

func TestSettlementReplacesWhatWasNotWrittenHere(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	for name, set := range map[string][]any{
		"list": {"LPUSH", "", "x"}, "word": {"SET", "", "nonsense"}, "short": {"SET", "", "17"}, "past": {"SET", "", "1000000000000000000"},
		"long": {"SET", "", strings.Repeat("9", 40)}, "none": {"DEL", ""},
	} {
		b := bucket(name, core.PerDay(100))
		set[1] = stored(b)
		server.Do(t, set...)
		settle(t, s, name, b, 10)
		if o := peek(t, s, b); o.Remaining != 90 {
			t.Errorf("over a %s: %d left of 100, want 90", name, o.Remaining)
		}
	}
}

// What owes more than it can hold, left by a wider limit, is left to whoever judges it.
func TestSettlementLowersNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	b := bucket("b", core.PerDay(100))
	full := fmt.Sprint(time.Now().Add(72 * time.Hour).UnixNano())
	server.Do(t, "SET", stored(b), full)
	settle(t, s, "id", b, 10)
	if got := server.Do(t, "GET", stored(b)); got != full {
		t.Errorf("stored %v, want %s as it was", got, full)
	}
}

func TestSettlementOfManyBuckets(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	var buckets []core.Bucket
	for i := range 300 {
		buckets = append(buckets, bucket(fmt.Sprint("b", i), core.PerDay(100)))
	}
	for range 2 {
		if err := s.DebitOnce(t.Context(), "id", owed(10, buckets...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range buckets {
		if o := peek(t, s, b); o.Remaining != 90 {
			t.Fatalf("%d left of 100 in %s, want 90", o.Remaining, b.Key)
		}
	}
}

func TestWrongSettlementsAreRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	plain := bucket("plain", core.PerHour(1)) // not charged where another is refused
	for want, err := range map[string]error{
		"without an id": s.DebitOnce(t.Context(), "", owed(1, bucket("b", core.PerHour(1)))),
		"sliding_log":   s.DebitOnce(t.Context(), "id", owed(1, bucket("b", core.PerHour(1).With(core.SlidingLog)))),
		"in steps of 5": s.DebitOnce(t.Context(), "id", owed(1, plain, bucket("b", core.PerHour(10).WithStep(5)))),
		"starting with": s.DebitOnce(t.Context(), "id", owed(1, plain, bucket("b", core.PerHour(10).WithStart(5)))),
		"quota is -1":   s.DebitOnce(t.Context(), "id", []core.Owed{{Bucket: bucket("b", core.PerHour(-1)), Time: 1}}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || core.FaultOf(err) != core.FaultRequest {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if n := server.Do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys, want none", n)
	}
}

func settleOverCluster(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient))
	buckets, _ := onNodes(t, s, cluster, 3, core.PerDay(100))
	for i := range 20 {
		buckets = append(buckets, bucket(fmt.Sprint("settled", i), core.PerDay(100)))
	}
	for range 2 {
		if err := s.DebitOnce(t.Context(), "id", owed(10, buckets...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range buckets {
		if o := peek(t, s, b); o.Remaining != 90 {
			t.Errorf("%d left of 100 in %s, want 90", o.Remaining, b.Key)
		}
	}
}
