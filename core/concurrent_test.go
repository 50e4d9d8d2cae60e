package core_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// released counts how many of n requests pass that are let go at one instant.
func released(l *core.Limiter, n int, request func(i int) core.Request) int64 {
	start := make(chan struct{})
	var passed atomic.Int64
	var ready, all sync.WaitGroup
	for i := range n {
		ready.Add(1)
		all.Go(func() {
			r := request(i)
			ready.Done()
			<-start
			if l.Check(ctx, r).Allowed {
				passed.Add(1)
			}
		})
	}
	ready.Wait()
	close(start)
	all.Wait()
	return passed.Load()
}

func realTime(t testing.TB, p core.Policy) *core.Limiter {
	t.Helper()
	s := memstore.New()
	t.Cleanup(func() { _ = s.Close() })
	return limiter(t, s, p)
}

func TestFreshKeyAdmitsExactlyItsCapacity(t *testing.T) {
	l := realTime(t, core.Policy{core.PerUser(core.PerHour(50))})
	for round := range 100 {
		r := user(fmt.Sprint("fresh", round))
		if got := released(l, 200, func(int) core.Request { return r }); got != 50 {
			t.Fatalf("round %d: %d of 200 admitted, want 50", round, got)
		}
	}
}

func TestFreshKeysOfThreeLevelsChargeExactly(t *testing.T) {
	l := realTime(t, core.Policy{core.PerIP(core.PerHour(150)), core.PerUser(core.PerHour(50)), core.PerEndpoint(core.PerHour(1000))})
	for round := range 100 {
		endpoint := fmt.Sprint("GET /", round)
		of := func(i int) core.Request { // two users of one address, one endpoint
			return on(fmt.Sprintf("192.0.2.%d", round), fmt.Sprint(round, "/", i%2), endpoint)
		}
		if got := released(l, 200, of); got != 100 {
			t.Fatalf("round %d: %d of 200 admitted, want 50 of each user", round, got)
		}
		if ip, end := left(t, l, of(0), "ip"), left(t, l, of(0), "endpoint"); ip != 50 || end != 900 {
			t.Fatalf("round %d: %d and %d left, want 50 and 900", round, ip, end)
		}
	}
}

// Policies change under traffic: each request is judged by one of them as a whole.
func TestPolicyChangesUnderTraffic(t *testing.T) {
	l := realTime(t, core.Policy{core.PerIP(core.PerHour(10)), core.PerUser(core.PerHour(10))})
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				d := l.Check(ctx, on("192.0.2.1", fmt.Sprint(i, "/", n), "GET /"))
				parts := d.Levels()
				if len(parts) != 2 || parts[0].Limit != parts[1].Limit {
					t.Errorf("judged by two policies: %+v", parts)
					return
				}
				_ = lines(d)
				l.UnseenRoutes()
				l.Stats()
			}
		})
	}
	for n := range int64(300) {
		limit := core.PerHour(10 + n)
		set(t, l, core.Policy{core.PerIP(limit), core.PerUser(limit)}, core.WithRoute("GET /x", core.Exempt))
	}
	close(stop)
	all.Wait()
}

func TestLimitersLeaveNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 1000 {
		s := memstore.New()
		l := limiter(t, s, core.Policy{core.PerUser(core.PerHour(1))})
		l.Check(ctx, user("u"))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l := realTime(t, core.Policy{core.PerUser(core.PerHour(1))})
	for i := range int64(1000) {
		set(t, l, core.Policy{core.PerUser(core.PerHour(1 + i))})
		l.Check(ctx, user(fmt.Sprint(i)))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t)
	if after := runtime.NumGoroutine(); after > before+2 {
		t.Errorf("%d goroutines, had %d", after, before)
	}
}

// One slow request holds up no other: nothing is locked while the store works.
func TestSlowStoreDelaysNobodyElse(t *testing.T) {
	s := scripted()
	s.answer = func(_ []core.Bucket, out []core.Outcome) error {
		time.Sleep(50 * ms)
		out[0] = admits(1, 1)
		return nil
	}
	l := limiter(t, s, core.Policy{core.PerUser(core.PerHour(1))})
	start := time.Now()
	if got := released(l, 100, func(i int) core.Request { return user(fmt.Sprint(i)) }); got != 100 {
		t.Errorf("%d of 100", got)
	}
	if took := time.Since(start); took > time.Second { // one after another: five
		t.Errorf("took %v", took)
	}
}
