package part

import (
	"context"
	"slices"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
)

// store gives every limiter over Redis the same scenarios, on one server that is emptied
// before each run.
func store(ctx context.Context, b *bench) error {
	scenarios := load.Standard()
	if b.All {
		scenarios = load.All()
	}
	for _, s := range scenarios {
		kinds := slices.DeleteFunc(slices.Clone(engine.Shared), func(k engine.Kind) bool {
			return s.IsDenied() && k.AdmitsAll || !s.IsDenied() && k.DeniedOnly
		})
		space := s.Space()
		err := b.rounds(s.Name(), kinds, func(k engine.Kind) (load.Sample, error) {
			return load.Run{
				Kind: k, Setup: b.setup(s.Levels, s.Traffic), Server: b.server, Space: space,
				Goroutines: s.Goroutines, Exhaust: s.Exhaust(), Time: b.Time,
			}.Measure(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
