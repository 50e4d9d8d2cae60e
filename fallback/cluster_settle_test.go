package fallback_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// One primary of a Cluster hangs for a while, keeping its data: only its buckets begin with what was left of
// them, and only they are charged when it is back.
func TestOnlyTheBucketsOfADeadShardAreSettled(t *testing.T) {
	t.Parallel()
	const budget = 5 * budget
	cluster := redistest.StartPrimaries(t, 3)
	for _, n := range cluster.Nodes() {
		n.Do(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	shared := redisstore.Must(cluster.Client(t), redisstore.WithBudget(budget))
	s := wrap(t, shared)
	eventually(t, "slot map", 10*time.Second, func() bool { take(t, s, clusterBucket(0)); return shared.Partition("x") != "" })
	var buckets []core.Bucket // one on each primary
	var nodes []string
	for i := 0; len(buckets) < 3; i++ {
		b := core.Bucket{Key: fmt.Sprint("1t:settle::", i), Limit: core.PerDay(100), Cost: 1, Level: "settle"}
		if at := shared.Partition(b.Key); !slices.Contains(nodes, at) {
			buckets, nodes = append(buckets, b), append(nodes, at)
		}
	}
	for _, b := range buckets {
		if n := spend(t, s, b, 60); n != 60 {
			t.Fatalf("%d admitted, want 60", n)
		}
	}
	dead := slices.IndexFunc(cluster.Nodes(), func(n *redistest.Server) bool { return n.Addr() == nodes[1] })
	cluster.Nodes()[dead].Stop()
	trip := buckets[1]
	trip.OnFailure = core.Open
	for i := 0; !degraded(s, nodes[1]); i++ { // by buckets that have nothing to do with it
		trip.Key = fmt.Sprint("1t:trip::", i)
		if shared.Partition(trip.Key) == nodes[1] {
			take(t, s, trip)
		}
	}
	local := 0
	for range 60 {
		for i, b := range buckets {
			if out := take(t, s, b)[0]; out.Charged && i == 1 {
				local++
			} else if i != 1 && out.Charged && out.Source != core.FromShared {
				t.Fatalf("bucket %d was decided by %v", i, out.Source)
			}
		}
	}
	if local != 40 {
		t.Errorf("%d admitted locally, want the 40 that were left", local)
	}
	cluster.Nodes()[dead].Cont()
	eventually(t, "back", 15*time.Second, func() bool { return !s.Health().Degraded })
	for i, b := range buckets {
		out := make([]core.Outcome, 1)
		eventually(t, "peek", 10*time.Second, func() bool { return shared.Peek(t.Context(), []core.Bucket{b}, out) == nil && out[0].Err == nil })
		if out[0].Remaining != 0 {
			t.Errorf("%d left of bucket %d, want none", out[0].Remaining, i)
		}
	}
	if h := s.Health(); h.Settled != 1 || h.Unsettled != 0 {
		t.Errorf("%d buckets settled, %d not; want the dead shard's alone", h.Settled, h.Unsettled)
	}
}
