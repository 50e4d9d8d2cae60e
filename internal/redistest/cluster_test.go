package redistest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestClusterServesAllSlots(t *testing.T) {
	c := redistest.StartCluster(t)
	client := c.Client(t)
	ctx := context.Background()

	if len(c.Addrs()) != 6 || len(c.Nodes()) != 6 {
		t.Fatalf("%d addresses, %d nodes; want 6", len(c.Addrs()), len(c.Nodes()))
	}

	ranges, err := client.ClusterSlots(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}

	slots, primaries := 0, map[string]bool{}

	for _, r := range ranges {
		slots += r.End - r.Start + 1
		primaries[r.Nodes[0].Addr] = true

		if len(r.Nodes) != 2 {
			t.Errorf("slots %d-%d on %d nodes, want a primary and a replica", r.Start, r.End, len(r.Nodes))
		}
	}

	if slots != 16384 || len(primaries) != 3 {
		t.Fatalf("%d slots on %d primaries, want 16384 on 3", slots, len(primaries))
	}

	for i := range 300 {
		if err := client.Set(ctx, fmt.Sprintf("key-%d", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}

	for _, node := range c.Nodes() {
		if primaries[node.Addr()] && node.Do(t, "DBSIZE") == int64(0) {
			t.Errorf("primary %s got none of 300 keys", node.Addr())
		}
	}
}
