package shaper_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

// offsets are the record's starts from the first one on.
func (r *record) offsets() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := make([]time.Duration, len(r.at))
	for i := range r.at {
		at[i] = r.at[i].Sub(r.at[0])
	}
	slices.Sort(at)
	return at
}

// densest is the largest number of instants in any window of that width, both ends included.
func densest(at []time.Duration, window time.Duration) int {
	at = slices.Clone(at)
	slices.Sort(at)
	most, from := 0, 0
	for i := range at {
		for at[i]-at[from] > window {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// Each worker has a client and a queue of its own, as replicas do. Repetitions count too.
func TestWorkersShareThePace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit   core.Limit
		workers int
		jobs    int
		slack   int // starts that may come on top in a window of one period
	}{
		{core.PerSecond(50), 3, 150, 0},
		{core.Per(10, 200*time.Millisecond), 40, 100, 0}, // more workers than jobs in a period
		{core.Per(100, 100*time.Millisecond), 8, 1500, 5},
		{core.Per(1, 1500*time.Millisecond), 4, 3, 0}, // slower than slots are given ahead
	} {
		t.Run(c.limit.String(), func(t *testing.T) {
			server := redistest.Start(t)
			var r record
			q := open(t, server.Client(t), c.limit)
			for i := range c.jobs {
				add(t, q, fmt.Sprint(i))
			}
			late := watchTimers(t)
			var stops []func() []error
			for range c.workers {
				stops = append(stops, work(t, open(t, server.Client(t), c.limit, shaper.WithRetryAfter(0)), 1, func(_ context.Context, j shaper.Job) error {
					r.note(j)
					if len(j.Payload) == 2 && j.Payload[1] == '7' && j.Attempt == 1 {
						return context.Canceled
					}
					return nil
				}))
			}
			drained(t, q, 30*time.Second)
			share := late()
			for _, stop := range stops {
				go stop() // together; the test's end waits for each
			}
			at := r.offsets()
			most, want := densest(at, c.limit.Period), int(c.limit.Quota)+1+c.slack
			rate := float64(len(at)-1) / at[len(at)-1].Seconds()
			wanted := float64(c.limit.Quota) / c.limit.Period.Seconds()
			t.Logf("%d starts at %.2f a second of %.2f, at most %d in a period", len(at), rate, wanted, most)
			if most > want {
				t.Errorf("%d starts in %v, want at most %d", most, c.limit.Period, want)
			}
			atLeast(t, rate, wanted, share)
		})
	}
}

// A path that is slow for good, and takes longer than a slot may be missed by, is no lateness: it is the same
// for all starts.
func TestFarRedisDoesNotStopTheQueue(t *testing.T) {
	t.Parallel()
	const quota, jobs = 20, 40
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	near := open(t, server.Client(t), core.PerSecond(quota))
	for i := range jobs {
		add(t, near, fmt.Sprint(i))
	}
	proxy.SetDelay(40 * time.Millisecond) // each way
	var r record
	work(t, open(t, connectTo(t, proxy.Addr()), core.PerSecond(quota)), 12, r.handle)
	drained(t, near, 30*time.Second)
	at := r.offsets()
	t.Logf("%d starts in %v", len(at), at[len(at)-1])
	if most := densest(at, time.Second); most > quota+1 {
		t.Errorf("%d starts in a second, want at most %d", most, quota+1)
	}
}
