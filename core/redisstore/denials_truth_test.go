package redisstore_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Whatever buckets a request has, whichever of them are remembered and at whatever cost: who is refused from
// memory is told the wait that Redis would tell.
func TestRememberedDenialsTellTheWholeWait(t *testing.T) {
	t.Parallel()
	server, clock := redistest.Start(t), new(storetest.Clock)
	asked := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now), redisstore.WithDenyCache(0))
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	limits := []core.Limit{
		core.PerSecond(10), core.PerSecond(2), core.PerMinute(20), core.PerHour(30), core.PerSecond(3).With(core.LeakyBucket),
		core.PerMinute(30).With(core.FixedWindow), core.PerMinute(25).With(core.SlidingWindow),
		core.PerHour(40).With(core.SlidingLog), core.Per(10, 5*time.Second).WithStep(5),
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	remembered, asks := 0, 0
	for range 60 {
		story := strconv.Itoa(r.IntN(1 << 30))
		chosen := r.Perm(len(limits))[:1+r.IntN(4)]
		for range 80 {
			if r.IntN(3) == 0 {
				clock.Advance(time.Duration(r.IntN(300)) * time.Millisecond)
			}
			cost, buckets := int64(1), []core.Bucket(nil)
			if r.IntN(4) == 0 {
				cost = 2
			}
			for _, i := range chosen {
				id := strconv.Itoa(i) + "-" + strconv.Itoa(r.IntN(2))
				buckets = append(buckets, costing(bucket(story+id, limits[i]), cost))
			}
			truth := make([]core.Outcome, len(buckets))
			if err := asked.Peek(context.Background(), buckets, truth); err != nil {
				t.Fatal(err)
			}
			asks++
			out := take(t, s, buckets...)
			if out[0].Source != core.FromCache {
				continue
			}
			remembered++
			if got, want := wait(out), wait(truth); got != want {
				t.Errorf("%v at a cost of %d: %v is told from memory, want %v\n%+v\n%+v", chosen, cost, got, want, out, truth)
			}
		}
	}
	t.Logf("%d of %d requests were refused from memory", remembered, asks)
	if remembered < asks/20 {
		t.Errorf("%d of %d requests were refused from memory, want a good part", remembered, asks)
	}
}

// wait is what a client is told for outcomes: 0 for an admission.
func wait(out []core.Outcome) (longest time.Duration) {
	for _, o := range out {
		if !o.Skipped && !o.Admits {
			longest = max(longest, o.RetryAfter)
		}
	}
	return longest
}
