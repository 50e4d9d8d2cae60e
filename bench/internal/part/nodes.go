package part

import (
	"context"
	"fmt"
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// nodes spreads the same work over the primaries of a Cluster.
func nodes(ctx context.Context, b *bench) error {
	for _, n := range []int{1, 3, 6} {
		addrs := redistest.StartPrimaries(b.host, n).Addrs()
		server := load.NewServer(addrs...)
		setup := b.setup(3, load.Busy)
		setup.Addr = strings.Join(addrs, ",")
		err := b.rounds(fmt.Sprintf("nodes=%d", n), engine.Cluster, func(k engine.Kind) (load.Sample, error) {
			return load.Run{
				Kind: k, Setup: setup, Server: server, Space: load.NewSpace(load.Uniform, []int{10_000, 10_000, 16}),
				Goroutines: 128, Time: b.Time,
			}.Measure(ctx)
		})
		_ = server.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
