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

	shards, err := client.ClusterShards(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}

	slots, primaries := 0, map[string]bool{}

	for _, shard := range shards {
		for _, r := range shard.Slots {
			slots += int(r.End - r.Start + 1)
		}

		for _, node := range shard.Nodes {
			if node.Role == "master" {
				primaries[fmt.Sprintf("127.0.0.1:%d", node.Port)] = true
			}
		}

		if len(shard.Nodes) != 2 {
			t.Errorf("%d nodes for %v, want a primary and a replica", len(shard.Nodes), shard.Slots)
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
		slots, _ := node.Do(t, "CLUSTER", "SLOTS").([]any) // what clients read
		for _, r := range slots {
			if r, _ := r.([]any); len(r) != 4 {
				t.Errorf("%s tells clients %v, want a primary and a replica", node.Addr(), r)
			}
		}

		if primaries[node.Addr()] && node.Do(t, "DBSIZE") == int64(0) {
			t.Errorf("primary %s got none of 300 keys", node.Addr())
		}
	}
}
