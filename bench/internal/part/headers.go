package part

import (
	"context"
	"slices"
	"testing"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
)

// headers measures Check and its headers over a store that costs nothing and always admits: all
// that a decision costs beside its store; and what one costs that is refused from memory.
func headers(ctx context.Context, b *bench) error {
	space := load.NewSpace(load.Uniform, []int{10_000, 10_000, 16})
	kinds := slices.Concat(engine.NoStore, engine.Remembered)
	return b.rounds("levels=3/no store", kinds, func(k engine.Kind) (load.Sample, error) {
		e, err := k.Open(b.setup(3, load.Busy))
		if err != nil {
			return load.Sample{}, err
		}
		defer e.Close()
		source := space.Source(0)
		return b.benchmark(func(tb *testing.B) {
			tb.ReportAllocs()
			for tb.Loop() {
				_, _ = e.Take(ctx, source.Next()) // a store that always answers
			}
		})
	})
}
