package part

import (
	"context"
	"fmt"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
)

const (
	scaleGoroutines = 128
	mostLocalKeys   = 1 << 20 // what a memstore remembers unless told otherwise
)

func pick(names ...string) []engine.Kind {
	var kinds []engine.Kind
	for _, name := range names {
		k, ok := engine.Find(append(engine.Shared, engine.Local...), name)
		if !ok {
			panic("no engine " + name)
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// levels varies how many levels there are, and how many limits one level has. Only ours can
// have several limits in a level.
func levels(ctx context.Context, b *bench) error {
	for _, n := range []int{1, 2, 3, 4, 6, 8} {
		err := b.scale(ctx, fmt.Sprintf("levels=%d", n), n, 1, pick(engine.Tierlimit, engine.RedisRate, engine.PlainScript))
		if err != nil {
			return err
		}
	}
	for n := 1; n <= 4; n++ {
		if err := b.scale(ctx, fmt.Sprintf("limits=%d", n), 1, n, pick(engine.Tierlimit)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) scale(ctx context.Context, scenario string, levels, limits int, kinds []engine.Kind) error {
	size := make([]int, levels)
	for i := range size {
		size[i] = 10_000
	}
	if levels > 2 {
		size[2] = 16
	}
	space := load.NewSpace(load.Uniform, size)
	setup := b.setup(levels, load.Busy)
	setup.Limits = limits
	return b.rounds(scenario, kinds, func(k engine.Kind) (load.Sample, error) {
		return load.Run{
			Kind: k, Setup: setup, Server: b.server, Space: space, Goroutines: scaleGoroutines, Time: b.Time,
		}.Measure(ctx)
	})
}

// keys varies how many there are, in Redis and in process. Redis is filled beforehand, so that
// it holds that many from the first request on.
func keys(ctx context.Context, b *bench) error {
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if b.Big {
		sizes = append(sizes, 10_000_000)
	}
	for _, n := range sizes {
		space := load.NewSpace(load.Uniform, []int{n})
		err := b.rounds(fmt.Sprintf("redis/keys=%d", n), pick(engine.Tierlimit, engine.RedisRate), func(k engine.Kind) (load.Sample, error) {
			return load.Run{
				Kind: k, Setup: b.setup(1, load.Busy), Server: b.server, Space: space, Fill: n, Goroutines: scaleGoroutines, Time: b.Time,
			}.Measure(ctx)
		})
		if err != nil {
			return err
		}
		if n > mostLocalKeys {
			continue
		}
		err = b.rounds(fmt.Sprintf("in process/keys=%d", n), pick(engine.TierlimitInner, engine.XRate), func(k engine.Kind) (load.Sample, error) {
			return b.local(ctx, k, space, 1, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
