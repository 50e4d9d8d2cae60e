package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Callers that came before Close get their answers, those after it are told. Close runs beside
// them as it does when a service ends.
func TestCloseDuringRequests(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	for range 20 {
		s := redisstore.Must(client, redisstore.WithBudget(patient))
		var wg sync.WaitGroup
		var answered, refused atomic.Int64
		for i := range 16 {
			wg.Go(func() {
				for {
					switch _, err := try(s, levels(fmt.Sprint(i))...); {
					case err == nil:
						answered.Add(1)
					case errors.Is(err, core.ErrClosed):
						refused.Add(1)
						return
					default:
						t.Errorf("error %v, want an answer or ErrClosed", err)
						return
					}
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		together(3, func(int) {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		wg.Wait()
		if refused.Load() != 16 {
			t.Errorf("%d of 16 callers were told", refused.Load())
		}
		idle(t, s)
	}
}

func TestCloseWaitsForTheCallUnderWay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	warm(t, client, 1)
	s := open(t, client, redisstore.WithBudget(patient))
	server.Stop()
	var answered atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := try(s, levels("")...); err == nil {
			answered.Store(true)
		}
	})
	eventually(t, 5*time.Second, "call", func() bool { flights, _, _ := s.Queue(); return flights > 0 })
	time.AfterFunc(50*time.Millisecond, server.Cont)
	_ = s.Close()
	if flights, _, _ := s.Queue(); flights > 0 {
		t.Error("a call is under way after Close")
	}
	wg.Wait()
	if !answered.Load() {
		t.Error("the caller got no answer")
	}
}

// Redis may never come back. Close does, and what it leaves behind ends by itself.
func TestCloseDuringAnOutageIsBounded(t *testing.T) {
	t.Parallel()
	for name, opt := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client := connect(t, server.Addr(), opt)
			warm(t, client, 2)
			s := open(t, client)
			server.Stop()
			together(20, func(i int) { _, _ = try(s, levels(fmt.Sprint(i))...) })
			start := time.Now()
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if took := time.Since(start); took > 6*defaultBudget+time.Second {
				t.Errorf("Close took %v, want six times the budget at most", took)
			}
			idle(t, s) // while the server still hangs
		})
	}
}

// Making and closing stores leaves nothing behind, however often policies are reloaded. It
// counts goroutines, so nothing may run beside it.
func TestStoresLeaveNoGoroutines(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client(t)
	warm(t, client, 2)
	before := runtime.NumGoroutine()
	for i := range 1000 {
		s := redisstore.Must(client, redisstore.WithBudget(patient))
		if i%10 == 0 {
			take(t, s, levels("")...)
		}
		for range 2 {
			_ = s.Close()
		}
	}
	eventually(t, 5*time.Second, "end of their goroutines", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// In an outage the goroutines that wait for a client are few, whatever the load.
func TestOutageHoldsFewGoroutines(t *testing.T) {
	server := redistest.Start(t)
	for name, opt := range clients {
		client := connect(t, server.Addr(), opt)
		warm(t, client, 4)
		s := open(t, client)
		before, most := runtime.NumGoroutine(), 0
		server.Stop()
		for range 100 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			_ = s.Take(ctx, levels(""), make([]core.Outcome, 3))
			cancel()
			time.Sleep(2 * time.Millisecond)
			most = max(most, runtime.NumGoroutine()-before)
		}
		server.Cont()
		if most > 60 {
			t.Errorf("%s: %d goroutines more while Redis hangs", name, most)
		}
		t.Logf("%s: at most %d goroutines more while Redis hangs", name, most)
		idle(t, s)
	}
}
