package part

import (
	"context"
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/replica"
)

// perReplica is how many requests one replica has under way.
const perReplica = 8

// replicas runs this program again, several times at once, on one Redis.
func replicas(ctx context.Context, b *bench) error {
	for _, n := range []int{1, 4, 16} {
		scenario := fmt.Sprintf("replicas=%d", n)
		err := b.rounds(scenario, pick(engine.Tierlimit, engine.RedisRate, engine.Rueidis), func(k engine.Kind) (load.Sample, error) {
			if err := b.server.Flush(ctx); err != nil {
				return load.Sample{}, err
			}
			g := replica.Group{
				Size: n, Server: b.server,
				Order: replica.Order{
					Engine: k.Name, Addr: b.addr, Pool: b.Pool, Time: b.Time,
					Scenario: load.Scenario{Levels: 3, Goroutines: perReplica, Keys: load.Uniform, Traffic: load.Busy},
				},
			}
			return g.Measure(ctx, time.Now().Add(replica.StartWait(n)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
