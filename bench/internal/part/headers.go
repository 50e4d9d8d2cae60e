package part

import (
	"context"
	"testing"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
)

// headers measures Check and its headers over a store that costs nothing and always admits: all
// that a decision costs beside its store.
func headers(ctx context.Context, b *bench) error {
	space := load.NewSpace(load.Uniform, []int{10_000, 10_000, 16})
	return b.rounds("levels=3/no store", engine.NoStore, func(k engine.Kind) (load.Sample, error) {
		e, err := k.Open(engine.Setup{Levels: 3, Limits: 1, Limit: load.Busy.Limit()})
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
