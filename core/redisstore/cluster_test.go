package redisstore_test

import (
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestContractOverCluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
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
		if n.PID() == 0 {
			continue
		}
		if role, _ := n.Do(t, "ROLE").([]any); len(role) > 0 && role[0] == "master" {
			found = append(found, n)
		}
	}
	return found
}
