package fallback_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
)

// replicaEnv makes the test binary a replica of a service, instead of running tests.
const replicaEnv = "TIERLIMIT_TEST_REPLICA"

// orders is what a replica is told.
type orders struct {
	Addr        string
	Quota       int64 // a second
	Burst       int64
	Every       time.Duration // between its requests
	Begin, Over time.Time
}

// report is what it says in the end.
type report struct {
	Requests, Admitted    int
	Shared, Local, Cached int // requests by who decided them
	Counted, CountedLast  int // replicas, before the first request and after the last
	Settled, Unsettled    uint64
	Slowest               time.Duration
}

// replica serves one greedy client until it is over, and prints its report.
func replica(given string) {
	var o orders
	if err := json.Unmarshal([]byte(given), &o); err != nil {
		panic(err)
	}
	client := redis.NewClient(&redis.Options{Addr: o.Addr})
	s, err := fallback.New(redisstore.Must(client), fallback.WithLogger(discard))
	if err != nil {
		panic(err)
	}
	l, err := core.New(s, core.Policy{core.PerUser(core.PerSecond(o.Quota).WithBurst(o.Burst))})
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Until(o.Begin))
	r := report{Counted: s.Health().Replicas}
	var mu sync.Mutex
	var wg sync.WaitGroup
	tick := time.NewTicker(o.Every)
	for ; time.Now().Before(o.Over); <-tick.C {
		wg.Go(func() {
			start := time.Now()
			d := l.Check(context.Background(), user)
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			r.Requests++
			r.Slowest = max(r.Slowest, took)
			switch d.Source {
			case core.FromShared:
				r.Shared++
			case core.FromLocal:
				r.Local++
			case core.FromCache:
				r.Cached++
			}
			if d.Allowed {
				r.Admitted++
			}
		})
	}
	wg.Wait()
	h := s.Health()
	r.CountedLast, r.Settled, r.Unsettled = h.Replicas, h.Settled, h.Unsettled
	_ = s.Close()
	_ = client.Close()
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

// launch starts replicas as processes of their own. The function that it returns waits for their reports.
func launch(t *testing.T, n int, o orders) func() []report {
	t.Helper()
	given, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	reports, failed := make([]report, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), replicaEnv+"="+string(given))
		cmd.Stderr = os.Stderr
		wg.Go(func() {
			said, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(said, &reports[i])
			}
			if err != nil {
				failed[i] = fmt.Errorf("replica %d: %w: %s", i, err, said)
			}
		})
	}
	return func() []report {
		wg.Wait()
		for _, err := range failed {
			if err != nil {
				t.Fatal(err)
			}
		}
		return reports
	}
}
