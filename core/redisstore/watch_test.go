package redisstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A breaker that counted checks would be tripped by one slow call that many of them shared.
func TestEachCallIsReportedOnceHoweverManyChecksItCarried(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	warm(t, client, 2)
	s := open(t, client, redisstore.WithBudget(patient))
	w := watching(s)
	server.Do(t, "CONFIG", "RESETSTAT")
	server.Stop()
	held := occupy(t, s)
	var wg sync.WaitGroup
	for i := range 98 {
		wg.Go(func() { _, _ = try(s, levels(fmt.Sprint(i))...) })
	}
	waits(t, s, 98)
	server.Cont()
	wg.Wait()
	held()
	idle(t, s)
	n := calls(t, server)["evalsha"]
	if good, bad := w.reports(); n != 3 || good != n || len(bad) != 0 {
		t.Errorf("%d calls, %d good reports, failures %v; want 3 calls and as many reports", n, good, bad)
	}
}

// The failure is known at the budget. That the call comes back later, with an error of its own
// or with an answer, is no news.
func TestHungCallIsReportedOnceAndAtTheBudget(t *testing.T) {
	t.Parallel()
	const budget = 300 * time.Millisecond
	for name, opt := range clients {
		for _, late := range []time.Duration{budget * 3 / 2, 4 * budget} { // answers, or never does
			t.Run(fmt.Sprint(name, " ", late), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				client := connect(t, server.Addr(), opt)
				warm(t, client, 2)
				s := open(t, client, redisstore.WithBudget(budget))
				w := watching(s)
				server.Stop()
				start := time.Now()
				if _, err := try(s, levels("")...); core.FaultOf(err) != core.FaultStore || err == nil {
					t.Errorf("error %v, want the store's", err)
				}
				eventually(t, 10*time.Second, "report", func() bool { _, bad := w.reports(); return len(bad) > 0 })
				if took := time.Since(start); took < budget && name != "tuned" {
					t.Errorf("reported after %v, want %v", took, budget)
				}
				time.Sleep(time.Until(start.Add(late)))
				server.Cont()
				idle(t, s)
				if _, bad := w.reports(); len(bad) != 1 {
					t.Errorf("reports of one call that hung: %v", bad)
				}
			})
		}
	}
}

func TestFailedCallIsReportedOnceHoweverManyChecksItCarried(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := &gate{Client: server.Client(t)}
	s := open(t, g, redisstore.WithBudget(patient))
	release := hold(t, s, g)
	w := watching(s)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := try(s, levels(fmt.Sprint(i))...); core.FaultOf(err) != core.FaultConfig {
				t.Errorf("error %v of fault %v, want the operator's", err, core.FaultOf(err))
			}
		})
	}
	waits(t, s, 50)
	server.Do(t, "ACL", "SETUSER", "default", "-evalsha", "-eval")
	release()
	wg.Wait()
	idle(t, s)
	if good, bad := w.reports(); good != 0 || len(bad) != 3 {
		t.Errorf("%d good reports, %d failures; want the 2 calls that were held and the one of the 50", good, len(bad))
	}
}

func TestReportsCarryTheFault(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	take(t, s, bucket("b", core.PerHour(5)))
	idle(t, s) // so far nobody watched
	w := watching(s)
	take(t, s, bucket("b", core.PerHour(5)))
	server.Do(t, "ACL", "SETUSER", "default", "-evalsha", "-eval")
	_, _ = try(s, bucket("b", core.PerHour(5)))
	idle(t, s)
	good, bad := w.reports()
	if good != 1 || len(bad) != 1 || core.FaultOf(bad[0]) != core.FaultConfig {
		t.Errorf("%d good reports, failures %v; want one of each, the latter the operator's", good, bad)
	}
}
