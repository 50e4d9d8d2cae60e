package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A Cluster of which nothing is known is the store's fault, and is told.
func mapUnknown(t *testing.T, _ *redistest.Cluster) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = client.Close() })
	s := open(t, client)
	w := watching(s)
	start := time.Now()
	for range 10 {
		if _, err := try(s, levels("")...); err == nil || core.FaultOf(err) != core.FaultStore {
			t.Errorf("error %v, want the store's fault", err)
		}
	}
	if took := time.Since(start); took > 10*defaultBudget+2*time.Second {
		t.Errorf("10 checks took %v", took)
	}
	eventually(t, 3*time.Second, "report", func() bool { _, bad := w.reports(); return len(bad) > 0 })
}

// Beside what one server needs, the client reads the slot map.
func clusterRights(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, restrictedCluster(t, cluster), redisstore.WithBudget(patient))
	for i := range 50 {
		out := take(t, s, levels(fmt.Sprint(i%5))...)
		if err := s.Refund(t.Context(), levels(fmt.Sprint(i%5)), out); err != nil {
			t.Fatal(err)
		}
	}
	reset(t, s, levels("1")...)
	nothingRefused(t, cluster)
}

// clusterOnly are the rights that a Cluster takes beside those of one server: to read the slot map, and
// to follow a key whose slot is on its way.
var clusterOnly = []any{"+cluster|slots", "+asking"}

func restrictedCluster(t *testing.T, cluster *redistest.Cluster) *redis.ClusterClient {
	t.Helper()
	for _, n := range cluster.Nodes() {
		n.Do(t, append(append([]any{"ACL", "SETUSER", "limiter", "reset", "on", ">secret"}, clusterOnly...), rights...)...)
		n.Do(t, "ACL", "LOG", "RESET")
		n.Do(t, "SCRIPT", "FLUSH")
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), Username: "limiter", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func nothingRefused(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	for _, n := range cluster.Nodes() {
		for _, entry := range n.Do(t, "ACL", "LOG").([]any) {
			t.Errorf("%s refused: %v", n.Addr(), entry)
		}
	}
}

// stop freezes a primary for less than its node timeout, so that nothing fails over.
func stop(n *redistest.Server) (cont func()) {
	n.Stop()
	return n.Cont
}

func hungNode(t *testing.T, cluster *redistest.Cluster) {
	client := cluster.Client(t)
	patiently := open(t, client, redisstore.WithBudget(patient))
	const budget = 300 * time.Millisecond
	s := open(t, client, redisstore.WithDenyCache(0), redisstore.WithBudget(budget))
	buckets, nodes := onNodes(t, patiently, cluster, 2, core.PerHour(100))
	take(t, patiently, buckets...)
	eventually(t, 5*time.Second, "a healthy check", func() bool {
		out, err := try(s, bucket("healthy", core.PerHour(1_000_000)), buckets[0], buckets[1])
		return err == nil && out[0].Err == nil && out[1].Err == nil && out[2].Err == nil
	})
	before := []int64{peek(t, patiently, buckets[0]).Remaining, peek(t, patiently, buckets[1]).Remaining}
	w := watching(s)
	closed := []core.Bucket{buckets[0], buckets[1]}
	closed[1].OnFailure = core.Closed
	var out, outClosed []core.Outcome
	var err, errClosed, alone error
	cont := stop(nodes[1])
	start := time.Now()
	together(3, func(i int) { // their replies come within the client's time-out, twice the budget
		switch i {
		case 0:
			out, err = try(s, buckets...)
		case 1:
			outClosed, errClosed = try(s, closed...)
		case 2:
			_, alone = try(s, buckets[1])
		}
	})
	took := time.Since(start)
	cont()
	if err != nil || took > budget+100*time.Millisecond {
		t.Errorf("error %v after %v, want an answer within the budget", err, took)
	}
	if !out[0].Charged || out[0].Err != nil || out[0].Source != core.FromShared {
		t.Errorf("the healthy node's bucket: %+v", out[0])
	}
	var fault *core.StoreError
	if !errors.As(out[1].Err, &fault) || fault.Partition != nodes[1].Addr() || fault.Fault != core.FaultStore || out[1].Source != core.FromNothing || out[1].Charged {
		t.Errorf("the hung node's bucket: %+v", out[1])
	}
	if errClosed != nil || outClosed[0].Charged || outClosed[1].Err == nil {
		t.Errorf("with a Closed level: %v, %+v", errClosed, outClosed)
	}
	if !errors.As(alone, &fault) || fault.Partition != nodes[1].Addr() {
		t.Errorf("alone: %v", alone)
	}
	idle(t, s)
	// The late answers have been given back, and the healthy node kept the one charge that stands.
	if left := peek(t, patiently, buckets[0]).Remaining; left != before[0]-1 {
		t.Errorf("%d left on the healthy node, want %d", left, before[0]-1)
	}
	if left := peek(t, patiently, buckets[1]).Remaining; left != before[1] {
		t.Errorf("%d left on the hung node, want %d", left, before[1])
	}
	if _, bad := w.reports(); len(bad) == 0 {
		t.Error("nobody was told")
	}
}

func callerLeavesCluster(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient))
	buckets, nodes := onNodes(t, s, cluster, 2, core.PerHour(100))
	take(t, s, buckets...)
	cont := stop(nodes[1])
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	out := make([]core.Outcome, 2)
	err := s.Take(ctx, buckets, out)
	cont()
	if core.FaultOf(err) != core.FaultCaller || err == nil {
		t.Errorf("error %v, want the caller's fault", err)
	}
	idle(t, s)
	for i, b := range buckets {
		if left := peek(t, s, b).Remaining; left != 99 {
			t.Errorf("%d left of bucket %d, want 99: nobody got the answer", left, i)
		}
	}
}

// movingSlots charges once while a slot is on its way, and when it has moved.
func movingSlots(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, restrictedCluster(t, cluster), redisstore.WithBudget(patient))
	buckets, nodes := onNodes(t, s, cluster, 2, core.PerHour(100))
	from, to := nodes[0], nodes[1]
	key := s.ClusterKey(buckets[0].Key)
	slot := from.Do(t, "CLUSTER", "KEYSLOT", key)
	other := buckets[0] // on the same tag, not there yet
	for i := 0; s.ClusterKey(other.Key) == key || from.Do(t, "CLUSTER", "KEYSLOT", s.ClusterKey(other.Key)) != slot; i++ {
		other.Key = fmt.Sprint(buckets[0].Key, i)
	}
	want := int64(100)
	charge := func(when string) {
		t.Helper()
		want--
		for i, o := range take(t, s, buckets...) {
			if !o.Charged || o.Err != nil || o.Remaining != want {
				t.Errorf("%s: bucket %d: %+v, want %d left", when, i, o, want)
			}
		}
	}
	charge("before")
	fromID, toID := from.Do(t, "CLUSTER", "MYID"), to.Do(t, "CLUSTER", "MYID")
	to.Do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.Do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	charge("migrating, key still here")
	host, port, _ := strings.Cut(to.Addr(), ":")
	from.Do(t, "MIGRATE", host, port, key, 0, 5000)
	charge("ASK")
	unconfirmedRedirect(t, cluster, buckets[0])
	want--
	take(t, s, buckets[1])
	if o := take(t, s, other); !o[0].Charged || o[0].Remaining != 99 {
		t.Errorf("a new key while its slot moves: %+v", o[0])
	}
	for _, n := range []*redistest.Server{to, from} {
		n.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	}
	charge("MOVED")
	eventually(t, 5*time.Second, "new map", func() bool { return s.Partition(buckets[0].Key) == to.Addr() })
	from.Do(t, "CONFIG", "RESETSTAT")
	charge("moved")
	if n := calls(t, from); n["evalsha"]+n["eval"] != 0 {
		t.Errorf("the old node is still asked: %v", n)
	}
	nothingRefused(t, cluster)
}

// A call that was redirected is on a connection of its own, where WAIT is not: nobody has confirmed it.
func unconfirmedRedirect(t *testing.T, cluster *redistest.Cluster, b core.Bucket) {
	t.Helper()
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient), redisstore.WithWait(1))
	take(t, s, bucket("map", core.PerHour(1_000_000)))
	out, err := try(s, b)
	if err == nil || !strings.Contains(err.Error(), "confirmed") || core.FaultOf(err) != core.FaultStore || out[0].Charged {
		t.Errorf("redirected, to be confirmed: error %v, outcome %+v", err, out[0])
	}
}
