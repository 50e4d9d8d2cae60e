package redistest

import (
	"fmt"
	"strings"
	"testing"
)

// slots is how many a Cluster has.
const slots = 16384

// StartPrimaries starts a Cluster of n primaries without replicas, which share the slots evenly.
// redis-cli would refuse fewer than three.
func StartPrimaries(t testing.TB, n int) *Cluster {
	t.Helper()

	return startPrimaries(t, n, func() *Server { return Start(t, "--cluster-enabled", "yes") })
}

// StartPrimaries is as the function [StartPrimaries].
func (c *TLS) StartPrimaries(n int) *Cluster {
	c.t.Helper()

	return startPrimaries(c.t, n, func() *Server { return c.Start("--cluster-enabled", "yes", "--tls-cluster", "yes") })
}

func startPrimaries(t testing.TB, n int, start func() *Server) *Cluster {
	t.Helper()

	c := &Cluster{}
	for i := range n {
		node := start()
		node.Do(t, "CLUSTER", "ADDSLOTSRANGE", i*slots/n, (i+1)*slots/n-1)
		node.Do(t, "CLUSTER", "SET-CONFIG-EPOCH", i+1)

		if i > 0 {
			host, port, _ := strings.Cut(c.nodes[0].Addr(), ":")
			node.Do(t, "CLUSTER", "MEET", host, port)
		}

		c.nodes = append(c.nodes, node)
	}

	mustEventually(t, readyWait, "cluster", func() error {
		for _, node := range c.nodes {
			state, err := fields(node, "CLUSTER", "INFO")
			if err != nil {
				return err
			}

			if state["cluster_state"] != "ok" || state["cluster_known_nodes"] != fmt.Sprint(n) {
				return fmt.Errorf("%s: state %s, knows %s", node.Addr(), state["cluster_state"], state["cluster_known_nodes"])
			}
		}

		return nil
	})

	return c
}
