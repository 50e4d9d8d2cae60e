package redisstore_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// hanging is a client of the worst kind: until an instant it does not return, whatever its
// context says. It lets the time of a bubble decide, so that these tests need none of their own.
type hanging struct {
	until time.Time
	calls atomic.Int64
}

func (h *hanging) Process(_ context.Context, cmd redis.Cmder) error {
	h.calls.Add(1)
	if wait := time.Until(h.until); wait > 0 {
		time.Sleep(wait)
		return errors.New("hung")
	}
	cmd.(interface{ SetVal([]int64) }).SetVal([]int64{1_790_000_000, 0, 0})
	return nil
}

// A check that finds every call under way late would only wait for the rest of its budget, and
// is told at once; one that finds a call in time waits with it.
func TestCheckBehindLateCallsIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = 100 * time.Millisecond
		client := &hanging{until: time.Now().Add(time.Hour)}
		s := redisstore.Must(client, redisstore.WithBudget(budget))
		b := bucket("b", core.PerHour(5))
		var wg sync.WaitGroup
		ask := func(at, want time.Duration) {
			wg.Go(func() {
				time.Sleep(at)
				start := time.Now()
				_, err := try(s, b)
				if took := time.Since(start); took != want || err == nil || core.FaultOf(err) != core.FaultStore {
					t.Errorf("asked at %v: fault %v of %v after %v, want the store's after %v", at, core.FaultOf(err), err, took, want)
				}
			})
		}
		ask(0, budget)
		ask(1*time.Millisecond, budget) // the second call
		ask(49*time.Millisecond, budget)
		ask(50*time.Millisecond, budget) // behind the second, which has half its time left
		ask(52*time.Millisecond, 0)
		ask(99*time.Millisecond, 0)
		ask(102*time.Millisecond, budget) // the first two are given up, and another leaves
		wg.Wait()
		if n := client.calls.Load(); n > 5 {
			t.Errorf("%d calls, want those of the checks that nobody told to go", n)
		}
		time.Sleep(time.Hour) // the end of the calls
	})
}

// Even such a client holds no request and only a few goroutines, and is asked again when it
// returns.
func TestClientThatDoesNotReturnHoldsFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &hanging{until: time.Now().Add(time.Hour)}
		s := redisstore.Must(client)
		w := watching(s)
		b, before := bucket("b", core.PerHour(5)), runtime.NumGoroutine()
		for range 2000 {
			start := time.Now()
			if _, err := try(s, b); err == nil || core.FaultOf(err) != core.FaultStore || time.Since(start) > defaultBudget {
				t.Errorf("fault %v of %v after %v", core.FaultOf(err), err, time.Since(start))
			}
			time.Sleep(time.Millisecond)
		}
		calls := client.calls.Load()
		if more := runtime.NumGoroutine() - before; calls > 10 || more > 20 {
			t.Errorf("%d calls and %d goroutines are held, want about 10", calls, more)
		}
		if _, bad := w.reports(); len(bad) != int(calls) {
			t.Errorf("%d reports of %d calls", len(bad), calls)
		}
		start := time.Now()
		if _, err := try(s, b); err == nil || time.Since(start) > 0 {
			t.Errorf("error %v after %v, want one at once", err, time.Since(start))
		}

		time.Sleep(time.Until(client.until) + time.Millisecond)
		idle(t, s)
		for range 100 {
			if _, err := try(s, b); err != nil {
				t.Errorf("after the client came back: %v", err)
			}
		}
		idle(t, s)
		if good, bad := w.reports(); good != 100 || len(bad) != int(calls) {
			t.Errorf("%d good reports and %d failures, want 100 and %d", good, len(bad), calls)
		}
	})
}

// Close waits five budgets, and not for the client.
func TestCloseDoesNotWaitForAClientThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := redisstore.Must(&hanging{until: time.Now().Add(time.Hour)})
		_, _ = try(s, bucket("b", core.PerHour(5)))
		start := time.Now()
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(start); took != 5*defaultBudget {
			t.Errorf("Close took %v, want 5 budgets of %v", took, defaultBudget)
		}
		time.Sleep(time.Hour)
		start = time.Now()
		if _ = s.Close(); time.Since(start) != 0 {
			t.Errorf("the second Close took %v", time.Since(start))
		}
	})
}

// An answer in the very instant of the budget is late or in time, but not both.
func TestAnswerInTheInstantOfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := redisstore.Must(slow{defaultBudget})
		w := watching(s)
		const rounds = 2000
		for range rounds {
			_, _ = try(s, bucket("b", core.PerHour(5)))
			time.Sleep(time.Second)
		}
		idle(t, s)
		// Where the caller had left, a call that gives back its charge was made beside.
		if good, bad := w.reports(); good+len(bad) < rounds || good+len(bad) > 2*rounds {
			t.Errorf("%d good reports and %d failures of %d calls", good, len(bad), rounds)
		}
		if s.Close() != nil {
			t.Error("Close failed")
		}
	})
}

// slow is a client that answers after a time.
type slow struct{ time.Duration }

func (s slow) Process(_ context.Context, cmd redis.Cmder) error {
	time.Sleep(s.Duration)
	cmd.(interface{ SetVal([]int64) }).SetVal([]int64{1_790_000_000, 0, 0})
	return nil
}
