package part

import (
	"context"
	"fmt"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/web"
)

// whole asks a service over real connections. The figures are those of server and client in one
// process, so a middleware's share of them is smaller than its share of the service.
func whole(ctx context.Context, b *bench) error {
	s := load.Scenario{Levels: 3, Goroutines: web.Connections, Keys: load.Uniform, Traffic: load.Busy}
	space := s.Space()
	return b.rounds(fmt.Sprintf("connections=%d", web.Connections), web.Kinds, func(k engine.Kind) (load.Sample, error) {
		return load.Run{
			Kind: k, Setup: b.setup(s.Levels, s.Traffic), Server: b.server, Space: space, Goroutines: s.Goroutines, Time: b.Time,
		}.Measure(ctx)
	})
}
