package fallback_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A primary dies: what lives there is decided locally, what lives elsewhere is not. When its replica
// has taken over, all is shared again; when that dies too and nothing takes over, the rest still is.
func TestDeadShardDegradesOnlyItsOwnBuckets(t *testing.T) {
	const budget = 5 * budget // the machine is shared with six servers: this is about answers, not about time
	cluster := redistest.StartCluster(t)
	for _, n := range cluster.Nodes() {
		n.Do(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	shared := redisstore.Must(cluster.Client(t), redisstore.WithBudget(budget))
	s := wrap(t, shared)
	var buckets []core.Bucket // one on each primary
	eventually(t, "slot map", 5*time.Second, func() bool { take(t, s, clusterBucket(0)); return shared.Partition("x") != "" })
	var nodes []string
	for i := 0; len(buckets) < 3; i++ {
		b := clusterBucket(i)
		if at := shared.Partition(b.Key); !slices.Contains(nodes, at) {
			buckets, nodes = append(buckets, b), append(nodes, at)
		}
	}
	eventually(t, "health of the primaries alone", 5*time.Second, func() bool {
		take(t, s, buckets...)
		return len(s.Health().Nodes) == 3
	})
	eventually(t, "shared decisions", 5*time.Second, func() bool { return sources(take(t, s, buckets...)) == "shared shared shared" })

	degrade := func(addr string, whole time.Duration) (sharedAgain time.Duration) {
		i := slices.IndexFunc(buckets, func(b core.Bucket) bool { return shared.Partition(b.Key) == addr })
		kill(t, cluster, addr)
		start, waited, others, opened := time.Now(), 0, 0, false
		for time.Since(start) < whole {
			began := time.Now()
			out := take(t, s, buckets...)
			if took := time.Since(began); took > budget/2 && opened {
				waited++
			}
			for j := range out {
				if out[j].Err != nil {
					t.Fatalf("bucket %d: %v", j, out[j].Err)
				}
				if j != i && out[j].Source != core.FromShared {
					others++
				}
			}
			if opened = opened || degraded(s, addr); out[i].Source == core.FromShared && opened {
				return time.Since(start)
			}
			time.Sleep(2 * time.Millisecond)
		}
		t.Logf("%s dead: %d decisions of others' buckets were not shared, %d decisions waited though the breaker was open", addr, others, waited)
		if others > 2 || waited > 5 || !opened {
			t.Errorf("%d decisions of others' buckets were not shared, %d waited; breaker opened: %v", others, waited, opened)
		}
		for _, n := range s.Health().Nodes {
			if n.Degraded && n.Partition != addr {
				t.Errorf("node %s is degraded too: %s", n.Partition, n.LastError)
			}
		}
		return 0
	}
	again := degrade(nodes[1], 15*time.Second)
	if again == 0 {
		t.Fatal("not shared within 15s of the primary's death")
	}
	t.Logf("shared again %v after the kill", again)
	if now := shared.Partition(buckets[1].Key); now == nodes[1] {
		t.Errorf("still on %s", now)
	} else if degrade(now, 3*time.Second) != 0 {
		t.Error("shared though no node is left")
	}
	refusedLocally(t, s, shared, buckets, 1)
}

// refusedLocally has the local half refuse bucket dead, and a Closed level on that node: the others
// are charged nothing.
func refusedLocally(t *testing.T, s *fallback.Store, shared core.Store, buckets []core.Bucket, dead int) {
	t.Helper()
	fresh := func(node int, l core.Limit) core.Bucket {
		for i := 0; ; i++ {
			b := core.Bucket{Key: fmt.Sprint("1t:fresh::", l, i), Limit: l, Cost: 1, Level: "fresh"}
			if shared.Partition(b.Key) == shared.Partition(buckets[node].Key) {
				return b
			}
		}
	}
	alive, dear, closed := fresh((dead+1)%3, core.PerHour(100)), fresh(dead, core.PerHour(10)), fresh(dead, core.PerHour(20))
	dear.Cost, closed.OnFailure = 10, core.Closed
	if out := take(t, s, dear); !out[0].Charged || out[0].Source != core.FromLocal {
		t.Fatalf("admitted by the local half: %+v", out)
	}
	for range 20 {
		if out := take(t, s, alive, dear); out[0].Charged || out[1].Admits || out[0].Remaining != 100 {
			t.Fatalf("refused by the local half: %+v", out)
		}
		if out := take(t, s, alive, closed); out[0].Charged || out[1].Err == nil || out[0].Remaining != 100 {
			t.Fatalf("with a Closed level: %+v", out)
		}
	}
	out := make([]core.Outcome, 1)
	eventually(t, "peek", 5*time.Second, func() bool { return shared.Peek(t.Context(), []core.Bucket{alive}, out) == nil })
	if out[0].Remaining != 100 {
		t.Errorf("%d left, want 100: refusals were charged", out[0].Remaining)
	}
}

func clusterBucket(i int) core.Bucket {
	return core.Bucket{Key: fmt.Sprint("1t:test::", i), Limit: core.PerHour(1_000_000), Cost: 1, Level: fmt.Sprint(i)}
}

func take(t *testing.T, s core.Store, buckets ...core.Bucket) []core.Outcome {
	t.Helper()
	out := make([]core.Outcome, len(buckets))
	if err := s.Take(context.Background(), buckets, out); err != nil {
		t.Fatalf("Take: %v", err)
	}
	return out
}

func sources(out []core.Outcome) (all string) {
	for i := range out {
		if i > 0 {
			all += " "
		}
		all += out[i].Source.String()
	}
	return all
}

func degraded(s *fallback.Store, addr string) bool {
	for _, n := range s.Health().Nodes {
		if n.Partition == addr {
			return n.Degraded
		}
	}
	return false
}

func kill(t *testing.T, cluster *redistest.Cluster, addr string) {
	t.Helper()
	for _, n := range cluster.Nodes() {
		if n.Addr() == addr {
			n.Kill()
			return
		}
	}
	t.Fatalf("no node %q", addr)
}
