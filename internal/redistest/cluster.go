package redistest

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9"
)

const (
	clusterNodes  = 6
	clusterShards = 3
)

// Cluster is three primaries with one replica each. The zero value is not
// usable.
type Cluster struct {
	nodes []*Server
}

// StartCluster returns when all nodes agree and every replica is in sync: a
// primary that is killed earlier leaves the Cluster down for ever. The nodes
// use a node timeout of 1 s, so that a failover takes about 2 s instead of 20.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	requireBinary(t, "redis-cli")

	c := &Cluster{}
	for range clusterNodes {
		c.nodes = append(c.nodes, Start(t,
			"--cluster-enabled", "yes",
			"--cluster-node-timeout", "1000",
			"--repl-ping-replica-period", "1"))
	}

	ctx, cancel := context.WithTimeout(context.Background(), readyWait)
	defer cancel()

	args := append([]string{"--cluster", "create"}, c.Addrs()...)
	args = append(args, "--cluster-replicas", "1", "--cluster-yes")

	if out, err := exec.CommandContext(ctx, "redis-cli", args...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli --cluster create: %v\n%s", err, out)
	}

	mustEventually(t, readyWait, "cluster", c.ready)

	return c
}

// Addrs are those of all nodes, as a client is configured with.
func (c *Cluster) Addrs() []string { return addrs(c.nodes) }

// Nodes come in no promised order of roles: ask each for its role.
func (c *Cluster) Nodes() []*Server { return append([]*Server(nil), c.nodes...) }

// Options are what a client has to be told, see [Server.Options].
func (c *Cluster) Options() *redis.ClusterOptions {
	o := c.nodes[0].Options()

	return &redis.ClusterOptions{Addrs: c.Addrs(), Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig}
}

// Client has the defaults of go-redis, see [Server.Client].
func (c *Cluster) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()

	return closing(t, redis.NewClusterClient(c.Options()))
}

func (c *Cluster) ready() error {
	for _, node := range c.nodes {
		state, err := fields(node, "CLUSTER", "INFO")
		if err != nil {
			return err
		}

		if state["cluster_state"] != "ok" || state["cluster_known_nodes"] != fmt.Sprint(clusterNodes) {
			return fmt.Errorf("%s: state %s, knows %s", node.Addr(), state["cluster_state"], state["cluster_known_nodes"])
		}

		if err := complete(node); err != nil {
			return err
		}

		info, err := replication(node)
		if err != nil {
			return err
		}

		if info["role"] != "master" {
			if err := linked(node); err != nil {
				return err
			}
		}
	}

	return nil
}

// complete asks for what clients ask for: nodes leave a replica out of the slots
// until the first bytes from its primary, a ping or a write, have reached it.
func complete(node *Server) error {
	reply, err := node.ask("CLUSTER", "SLOTS")
	if err != nil {
		return err
	}

	ranges, _ := reply.([]any)
	if len(ranges) != clusterShards {
		return fmt.Errorf("%s: %d ranges of slots", node.Addr(), len(ranges))
	}

	for _, r := range ranges {
		// First slot, last slot, primary, replica.
		if shard, _ := r.([]any); len(shard) != 4 {
			return fmt.Errorf("%s: a shard without its replica: %v", node.Addr(), r)
		}
	}

	return nil
}
