package part

import (
	"context"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
)

const localKeys = 100_000

// benchmark runs f for the time of one run, once.
func (b *bench) benchmark(f func(*testing.B)) (load.Sample, error) {
	if err := flag.Set("test.benchtime", b.Time.String()); err != nil {
		return load.Sample{}, err
	}
	r := testing.Benchmark(f)
	if r.N == 0 {
		return load.Sample{}, fmt.Errorf("benchmark failed")
	}
	return load.Sample{Metrics: load.Metrics{
		load.NsPerOp:    float64(r.T.Nanoseconds()) / float64(r.N),
		load.Allocs:     float64(r.MemAllocs) / float64(r.N),
		load.AllocBytes: float64(r.MemBytes) / float64(r.N),
	}}, nil
}

// inProcess asks one key again and again, then a hundred thousand of them, from one goroutine
// and from as many as there are cores.
func inProcess(ctx context.Context, b *bench) error {
	for _, levels := range []int{1, 3} {
		for _, keys := range []load.Distribution{load.Hot, load.Zipf} {
			space := load.NewSpace(keys, []int{localKeys, localKeys, 16}[:levels])
			for _, parallel := range []bool{false, true} {
				if parallel && keys == load.Hot {
					continue
				}
				err := b.rounds(LocalScenario(levels, keys, parallel), engine.Local, func(k engine.Kind) (load.Sample, error) {
					return b.local(ctx, k, space, levels, parallel)
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// LocalScenario is how results refer to it.
func LocalScenario(levels int, keys load.Distribution, parallel bool) string {
	how := "serial"
	if parallel {
		how = "parallel"
	}
	return fmt.Sprintf("levels=%d/keys=%s/%s", levels, keys, how)
}

func (b *bench) local(ctx context.Context, k engine.Kind, space *load.Space, levels int, parallel bool) (load.Sample, error) {
	e, err := k.Open(engine.Setup{Levels: levels, Limits: 1, Limit: load.Busy.LocalLimit()})
	if err != nil {
		return load.Sample{}, err
	}
	defer e.Close()
	load.Exhaust(ctx, e, space, space.Size()) // every key exists, so that the figure is that of the look-up
	return b.benchmark(func(tb *testing.B) {
		tb.ReportAllocs()
		if !parallel {
			for source := space.Source(0); tb.Loop(); {
				_, _ = e.Take(ctx, source.Next()) // in process there is no error
			}
			return
		}
		var n atomic.Int64
		tb.RunParallel(func(pb *testing.PB) {
			for source := space.Source(int(n.Add(1))); pb.Next(); {
				_, _ = e.Take(ctx, source.Next())
			}
		})
	})
}
