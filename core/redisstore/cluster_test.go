package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// One Cluster for all of these: it takes seconds to start.
func TestCluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	for _, p := range cluster.Nodes() {
		p.Do(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *redistest.Cluster)
	}{
		{"contract", contractOverCluster},
		{"tags", tagsAgree},
		{"spread", keysSpread},
		{"exact", exactOverCluster},
		{"processes", processesOverCluster},
		{"all or nothing", refusalGivesBack},
		{"scripts", eachNodeLearnsTheScript},
		{"no map", mapUnknown},
		{"rights", clusterRights},
		{"hung node", hungNode},
		{"caller leaves", callerLeavesCluster},
		{"moving slots", movingSlots},
		{"leases", leasesOverCluster},
		{"census", countOverCluster},
		{"settlement", settleOverCluster},
		{"close", closeCluster},
	} {
		t.Run(test.name, func(t *testing.T) {
			flush(t, cluster)
			test.run(t, cluster)
			for _, p := range primaries(t, cluster) {
				if said := fmt.Sprint(p.Do(t, "INFO", "errorstats")); strings.Contains(said, "CROSSSLOT") {
					t.Errorf("%s: %s", p.Addr(), said)
				}
			}
		})
	}
}

func contractOverCluster(t *testing.T, cluster *redistest.Cluster) {
	client := cluster.Client(t)
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) core.Store {
		flush(t, cluster)
		return redisstore.Must(client, redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	})
}

// flush empties all primaries.
func flush(t testing.TB, cluster *redistest.Cluster) {
	t.Helper()
	for _, p := range primaries(t, cluster) {
		p.Do(t, "FLUSHALL")
	}
}

func primaries(t testing.TB, cluster *redistest.Cluster) (found []*redistest.Server) {
	t.Helper()
	for _, n := range cluster.Nodes() {
		if role, _ := n.Do(t, "ROLE").([]any); len(role) > 0 && role[0] == "master" {
			found = append(found, n)
		}
	}
	return found
}

// onNodes gives a bucket on each of n nodes, each with a key that no test has used, and the nodes.
func onNodes(t testing.TB, s *redisstore.Store, cluster *redistest.Cluster, n int, l core.Limit) (buckets []core.Bucket, nodes []*redistest.Server) {
	t.Helper()
	for i := 0; len(buckets) < n; i++ {
		b := bucket(fmt.Sprint(t.Name(), i), l)
		take(t, s, bucket("map", core.PerHour(1_000_000)))
		at := s.Partition(b.Key)
		if len(nodes) == 0 || !strings.Contains(fmt.Sprint(addrs(nodes)), at) {
			buckets, nodes = append(buckets, b), append(nodes, serverAt(cluster, at))
		}
	}
	return buckets, nodes
}

func serverAt(cluster *redistest.Cluster, addr string) *redistest.Server {
	for _, n := range cluster.Nodes() {
		if n.Addr() == addr {
			return n
		}
	}
	return nil
}

func addrs(nodes []*redistest.Server) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Addr())
	}
	return all
}

func tagsAgree(t *testing.T, cluster *redistest.Cluster) {
	perNode := map[string]int{}
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient))
	if s.Partition("any") != "" {
		t.Error("a partition is known before any call")
	}
	take(t, s, levels("map")...)
	for _, tag := range redisstore.Tags() {
		if slot := cluster.Nodes()[0].Do(t, "CLUSTER", "KEYSLOT", "tierlimit:{"+tag+"}:x"); slot != int64(redisstore.SlotOf(tag)) {
			t.Errorf("tag %q: slot %v, we say %d", tag, slot, redisstore.SlotOf(tag))
		}
	}
	for i := range 20_000 {
		perNode[s.Partition(fmt.Sprint("key", i))]++
	}
	for addr, n := range perNode {
		if n < 6000 || n > 7400 || serverAt(cluster, addr) == nil {
			t.Errorf("%s has %d of 20000 keys", addr, n)
		}
	}
	if len(perNode) != 3 {
		t.Errorf("keys on %d nodes, want 3", len(perNode))
	}
}

func keysSpread(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient))
	together(300, func(i int) { take(t, s, levels(fmt.Sprint(i))...) })
	for _, p := range primaries(t, cluster) {
		if n := p.Do(t, "DBSIZE").(int64); n < 120 || n > 280 {
			t.Errorf("%s has %d of 601 keys", p.Addr(), n)
		}
		for _, k := range p.Do(t, "KEYS", "*").([]any) {
			if left := p.Do(t, "PTTL", k).(int64); left <= 0 {
				t.Errorf("%v lives for %d ms", k, left)
			}
		}
	}
	if b := levels("7")[0]; serverAt(cluster, s.Partition(b.Key)).Do(t, "EXISTS", s.ClusterKey(b.Key)) != int64(1) {
		t.Errorf("no key %s on %s", s.ClusterKey(b.Key), s.Partition(b.Key))
	}
}

// As over one server: the same key from 200 goroutines, the levels on all nodes.
func exactOverCluster(t *testing.T, cluster *redistest.Cluster) {
	stores := []*redisstore.Store{
		open(t, cluster.Client(t), redisstore.WithBudget(patient)),
		open(t, cluster.Client(t), redisstore.WithBudget(patient), redisstore.WithDenyCache(0)),
	}
	for round := range 10 {
		buckets, _ := onNodes(t, stores[0], cluster, 3, core.PerHour(1000))
		for i := range buckets {
			buckets[i].Key += fmt.Sprint(round)
		}
		buckets[round%3].Limit = core.PerHour(50)
		var admitted atomic.Int64
		together(200, func(i int) {
			if out, err := try(stores[i%2], buckets...); err != nil {
				t.Errorf("Take: %v", err)
			} else if out[0].Charged && out[1].Charged && out[2].Charged {
				admitted.Add(1)
			} else if out[0].Charged || out[1].Charged || out[2].Charged {
				t.Errorf("some charged: %+v", out)
			}
		})
		if admitted.Load() != 50 {
			t.Errorf("round %d: %d admitted, want 50", round, admitted.Load())
		}
		idle(t, stores[0])
		idle(t, stores[1])
		for i, b := range buckets {
			if want := b.Limit.Capacity() - 50; peek(t, stores[0], b).Remaining != want {
				t.Errorf("round %d: %d left of bucket %d, want %d: denials are charged nowhere", round, peek(t, stores[0], b).Remaining, i, want)
			}
		}
	}
}

func refusalGivesBack(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient), redisstore.WithDenyCache(0))
	buckets, nodes := onNodes(t, s, cluster, 3, core.PerHour(100))
	buckets[1].Limit = core.PerHour(1)
	buckets[2].Shadow = true
	first := take(t, s, buckets...)
	for i := range 5 {
		out := take(t, s, buckets...)
		if out[0].Charged || !out[0].Admits || out[0].Remaining != 99 || out[0].Receipt != (core.Receipt{}) {
			t.Errorf("refusal %d says of the level that admits: %+v", i, out[0])
		}
		if out[1].Admits || out[1].Charged || out[1].RetryAfter <= 0 {
			t.Errorf("refusal %d says of the level that refuses: %+v", i, out[1])
		}
		if !out[2].Charged || out[2].Remaining != int64(98-i) {
			t.Errorf("refusal %d says of the level in shadow: %+v", i, out[2])
		}
		if o := peek(t, s, buckets[0]); o.Remaining != 99 {
			t.Errorf("refusal %d: %d left, want 99", i, o.Remaining)
		}
	}
	if left := nodes[0].Do(t, "PTTL", s.ClusterKey(buckets[0].Key)).(int64); left <= 0 {
		t.Errorf("the key lives for %d ms", left)
	}
	if err := s.Refund(t.Context(), buckets, first); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{100, 1, 95} {
		if o := peek(t, s, buckets[i]); o.Remaining != want {
			t.Errorf("bucket %d after the refund: %d left, want %d", i, o.Remaining, want)
		}
	}
}

func eachNodeLearnsTheScript(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient))
	buckets, nodes := onNodes(t, s, cluster, 3, core.PerHour(100))
	for i, n := range nodes {
		n.Do(t, "SCRIPT", "FLUSH")
		n.Do(t, "CONFIG", "RESETSTAT")
		for j, o := range take(t, s, buckets...) {
			if !o.Charged || o.Remaining != int64(99-i) {
				t.Errorf("node %d forgot: bucket %d %+v", i, j, o)
			}
		}
		if n := calls(t, n); n["eval"] != 1 {
			t.Errorf("calls %v, want one EVAL", n)
		}
	}
}

// Blocks are taken from the node that has the key, and what is left of them goes back there.
func leasesOverCluster(t *testing.T, cluster *redistest.Cluster) {
	client := cluster.Client(t)
	look := open(t, client, redisstore.WithBudget(patient))
	buckets, _ := onNodes(t, look, cluster, 3, still)
	for i := range buckets {
		buckets[i].Lease = true
	}
	s := redisstore.Must(client, redisstore.WithBudget(patient))
	for _, b := range buckets {
		heat(t, s, b)
		reset(t, s, b)
		if n := s.Leased(b.Key); n != 0 {
			t.Errorf("%d units are held of a bucket that was reset", n)
		}
		taken := heat(t, s, b)
		_ = s.Close()
		whole(t, look, b, 1000-taken)
		s = redisstore.Must(client, redisstore.WithBudget(patient))
	}
	_ = s.Close()
}

func closeCluster(t *testing.T, cluster *redistest.Cluster) {
	client := cluster.Client(t)
	for range 10 {
		s := redisstore.Must(client, redisstore.WithBudget(patient))
		together(20, func(i int) {
			if i == 10 {
				time.Sleep(2 * time.Millisecond)
				_ = s.Close()
				return
			}
			for range 20 {
				if _, err := try(s, levels(fmt.Sprint(i))...); err != nil && !errors.Is(err, core.ErrClosed) {
					t.Errorf("error %v", err)
				}
			}
		})
		idle(t, s)
	}
}
