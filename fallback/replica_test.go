package fallback_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/selfexec"
)

// replicaEnv makes the test binary a replica of a service, instead of running tests.
const replicaEnv = "TIERLIMIT_TEST_REPLICA"

// trackEvery is how often a replica notes what it is.
const trackEvery = 100 * time.Millisecond

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
	Track                 []moment
	Changes               []change
}

// moment is what a replica was at an instant.
type moment struct {
	At       time.Time
	Admitted int // so far
	Degraded bool
	Share    float64
	Counted  int
}

// change is one of its breaker.
type change struct {
	At       time.Time
	Degraded bool
}

// String leaves out what is too long to read.
func (r report) String() string {
	return fmt.Sprintf("%d of %d admitted; decided: %d shared, %d local, %d from memory; counted %d replicas at first and %d at last; %d buckets settled, %d not; slowest %v",
		r.Admitted, r.Requests, r.Shared, r.Local, r.Cached, r.Counted, r.CountedLast, r.Settled, r.Unsettled, r.Slowest)
}

// replica serves one greedy client until it is over, and prints its report.
func replica(given string) {
	var o orders
	if err := json.Unmarshal([]byte(given), &o); err != nil {
		panic(err)
	}
	var r report
	var mu sync.Mutex
	client := redis.NewClient(&redis.Options{Addr: o.Addr})
	s, err := fallback.New(redisstore.Must(client), fallback.WithLogger(discard), fallback.WithOnChange(func(c fallback.Change) {
		mu.Lock()
		defer mu.Unlock()
		r.Changes = append(r.Changes, change{c.At, c.Degraded})
	}))
	if err != nil {
		panic(err)
	}
	l, err := core.New(s, core.Policy{core.PerUser(core.PerSecond(o.Quota).WithBurst(o.Burst))})
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Until(o.Begin))
	r.Counted = s.Health().Replicas
	var wg sync.WaitGroup
	tick, next := time.NewTicker(o.Every), o.Begin
	for now := time.Now(); now.Before(o.Over); now = <-tick.C {
		if !now.Before(next) {
			next = next.Add(trackEvery)
			h := s.Health()
			mu.Lock()
			r.Track = append(r.Track, moment{now, r.Admitted, h.Degraded, h.Share, h.Replicas})
			mu.Unlock()
		}
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
	r.Track = append(r.Track, moment{o.Over, r.Admitted, h.Degraded, h.Share, h.Replicas})
	r.CountedLast, r.Settled, r.Unsettled = h.Replicas, h.Settled, h.Unsettled
	_ = s.Close()
	_ = client.Close()
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

// launch starts replicas as processes of their own, each with its own way to Redis. The function that it returns
// waits for their reports.
func launch(t *testing.T, addrs []string, o orders) func(*testing.T) []report {
	t.Helper()
	all := slices.Repeat([]orders{o}, len(addrs))
	for i := range all {
		all[i].Addr = addrs[i]
	}
	return selfexec.Start[report](t, replicaEnv, all)
}
