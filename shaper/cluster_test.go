package shaper_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

// One Cluster for both, since starting it takes longer than the tests.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("documented rights", func(t *testing.T) { clusterRights(t, cluster) })
	t.Run("failover", func(t *testing.T) { clusterFailover(t, cluster) })
}

// clusterOnly are the rights that a Cluster's client takes beside those: to read the slot map and the
// table of commands, and to follow a key whose slot is on its way.
var clusterOnly = []any{"+cluster|slots", "+command", "+asking"}

func clusterRights(t *testing.T, cluster *redistest.Cluster) {
	for _, n := range cluster.Nodes() {
		n.Do(t, slices.Concat([]any{"ACL", "SETUSER", "worker", "reset", "on", ">secret"}, rights, clusterOnly)...)
		n.Do(t, "ACL", "LOG", "RESET")
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs(), Username: "worker", Password: "secret", DisableIdentity: true,
	})
	t.Cleanup(func() { _ = client.Close() })
	everything(t, open(t, client, fast, shaper.WithAttempts(2), shaper.WithRetryAfter(0)))
	for _, n := range cluster.Nodes() {
		for _, entry := range n.Do(t, "ACL", "LOG").([]any) {
			t.Errorf("the server refused: %v", entry)
		}
	}
}

// The primary of the queue's keys is killed and its replica takes over.
func clusterFailover(t *testing.T, cluster *redistest.Cluster) {
	client := cluster.Client(t)
	q := open(t, client, core.PerSecond(500), shaper.WithClaimAfter(time.Second))
	var r record
	stop := work(t, q, 3, r.handle)
	add(t, q, "before")
	drained(t, q, 10*time.Second)
	primary, err := client.MasterForKey(t.Context(), jobsKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range cluster.Nodes() {
		if n.Addr() == primary.Options().Addr {
			n.Kill()
		}
	}
	killed := time.Now()
	eventually(t, 20*time.Second, "an added job", func() bool {
		_, err := q.Add(context.Background(), []byte("after"))
		return err == nil
	})
	t.Logf("Add succeeds again after %v", time.Since(killed))
	eventually(t, 20*time.Second, "the job is done", func() bool { return r.each()["after"] > 0 })
	t.Logf("and jobs are done after %v", time.Since(killed))
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
}
