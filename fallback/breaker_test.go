package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/fallback"
)

var user = core.Request{User: "u"}

func TestOpensAfterFiveFailuresInARow(t *testing.T) {
	shared := newFake()
	l := limiter(t, wrap(t, shared), core.PerUser(core.PerHour(1000)))
	shared.fail(errDown)
	if n := admitted(l, user, 100); n != 100 {
		t.Errorf("%d of 100 admitted, want all of them", n)
	}
	if n := shared.calls(); n != 5 {
		t.Errorf("the shared store was asked %d times, want 5", n)
	}
}

func TestOpensWhenHalfOfTwentyFail(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	l := limiter(t, s, core.PerUser(core.PerHour(1000)))
	for i := range 19 {
		shared.fail(nil)
		if i%2 == 1 {
			shared.fail(errDown)
		}
		l.Check(context.Background(), user)
	}
	if s.Health().Degraded {
		t.Fatal("degraded before twenty calls")
	}
	shared.fail(errDown)
	l.Check(context.Background(), user)
	if !s.Health().Degraded {
		t.Error("not degraded after ten failures in twenty calls")
	}
}

func TestClientsCannotOpenIt(t *testing.T) {
	neutral := map[string]error{
		"caller gone":       &core.StoreError{Fault: core.FaultCaller, Err: context.Canceled},
		"caused by request": &core.StoreError{Fault: core.FaultRequest, Err: fmt.Errorf("WRONGTYPE")},
	}
	for name, err := range neutral {
		t.Run(name, func(t *testing.T) {
			shared := newFake()
			s := wrap(t, shared)
			l := limiter(t, s, core.PerUser(core.PerHour(1000)))
			shared.fail(err)
			for range 100 {
				l.Check(context.Background(), user)
			}
			if s.Health().Degraded {
				t.Error("degraded")
			}
			if n := shared.calls(); n != 100 {
				t.Errorf("the shared store was asked %d times, want 100", n)
			}
		})
	}
}

func TestCallersWhoLeaveDoNotHideFailures(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	l := limiter(t, s, core.PerUser(core.PerHour(1000)))
	for range 3 {
		shared.fail(errDown)
		l.Check(context.Background(), user)
		l.Check(context.Background(), user)
		shared.fail(&core.StoreError{Fault: core.FaultCaller, Err: context.Canceled})
		l.Check(context.Background(), user)
	}
	if !s.Health().Degraded {
		t.Error("not degraded after six failures in a row, with callers leaving between them")
	}
}

func TestACallerWhoLeftIsNotServed(t *testing.T) {
	shared := newFake()
	l := limiter(t, wrap(t, shared), core.PerUser(core.PerHour(1000)))
	shared.fail(&core.StoreError{Fault: core.FaultCaller, Err: context.Canceled})
	if d := l.Check(context.Background(), user); d.Allowed || d.Reason != core.StoreFailed {
		t.Errorf("allowed %v, reason %v, want a refusal for the store: no bucket was charged", d.Allowed, d.Reason)
	}
}

func TestNoRequestWaitsForTheProbe(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	l := limiter(t, s, core.PerUser(core.PerHour(100_000)))
	shared.fail(errDown)
	admitted(l, user, 5)
	shared.mu.Lock()
	shared.slow = time.Second
	shared.mu.Unlock()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 100 {
				start := time.Now()
				if d := l.Check(context.Background(), user); !d.Allowed || d.Source != core.FromLocal {
					t.Errorf("allowed %v from %v, want a local admission", d.Allowed, d.Source)
				}
				if took := time.Since(start); took > 500*time.Millisecond {
					t.Errorf("a decision took %v", took)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	if n := shared.calls(); n < 6 || n > 5+6 {
		t.Errorf("the shared store was asked %d times, want the five failures and a probe now and then", n)
	}
}

func TestAProbeBringsItBack(t *testing.T) {
	var mu sync.Mutex
	var changes []fallback.Change
	shared := newFake()
	s := wrap(t, shared, fallback.WithOnChange(func(c fallback.Change) {
		mu.Lock()
		defer mu.Unlock()
		changes = append(changes, c)
	}))
	l := limiter(t, s, core.PerUser(core.PerHour(100_000)))
	shared.fail(errDown)
	n := admitted(l, user, 1000)
	time.Sleep(time.Second) // some probes fail
	shared.fail(nil)
	eventually(t, "decisions are shared again", time.Second, func() bool {
		return l.Check(context.Background(), user).Source == core.FromShared
	})
	eventually(t, "the return is reported", time.Second, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(changes) == 2
	})
	mu.Lock()
	defer mu.Unlock()
	if !changes[0].Degraded || changes[0].Err == nil || changes[1].Degraded || changes[1].Err != nil {
		t.Errorf("changes are %+v, want one away and one back", changes)
	}
	if h := s.Health(); h.LocalDecisions < uint64(n) || h.Failures.Store != 5 || h.Degraded {
		t.Errorf("health is %+v, want at least %d local decisions, 5 failures, not degraded", h, n)
	}
}
