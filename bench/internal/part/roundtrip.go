package part

import (
	"context"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// distance is about what lies between two zones of one region.
const distance = 2400 * time.Microsecond

// roundTrip puts a proxy before Redis that holds each reply back.
func roundTrip(ctx context.Context, b *bench) error {
	proxy := redistest.StartProxy(b.host, b.addr)
	proxy.SetDelay(distance)
	var kinds []engine.Kind
	for _, name := range []string{engine.Tierlimit, engine.RedisRate, engine.Rueidis, engine.PlainScript} {
		k, _ := engine.Find(engine.Shared, name)
		kinds = append(kinds, k)
	}
	for _, goroutines := range []int{16, 128} {
		s := load.Scenario{Levels: 3, Goroutines: goroutines, Keys: load.Uniform, Traffic: load.Busy}
		space := s.Space()
		setup := b.setup(s.Levels, s.Traffic)
		setup.Addr = proxy.Addr()
		err := b.rounds(s.Name(), kinds, func(k engine.Kind) (load.Sample, error) {
			return load.Run{
				Kind: k, Setup: setup, Server: b.server, Space: space, Goroutines: goroutines, Time: b.Time,
			}.Measure(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
