package part

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
)

const liveKeys = 1_000_000

// memory is what the heap holds after a million keys, each of which still owes something.
func memory(ctx context.Context, b *bench) error {
	return b.rounds("levels=1/keys=1000000", engine.Local, func(k engine.Kind) (load.Sample, error) {
		before := heap()
		e, err := k.Open(engine.Setup{Levels: 1, Limits: 1, Limit: load.Busy.LocalLimit()})
		if err != nil {
			return load.Sample{}, err
		}
		defer e.Close()
		r := engine.Request{Keys: make([]string, 1)}
		for i := range liveKeys {
			// A string of its own, as a request would bring one: who keeps it pays for it.
			r.IP = netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
			r.Keys[0] = strings.Clone("ip:" + r.IP.String())
			if _, err := e.Take(ctx, &r); err != nil {
				return load.Sample{}, fmt.Errorf("%s: %w", k.Name, err)
			}
		}
		s := load.Sample{Metrics: load.Metrics{load.BytesPerKey: float64(heap()-before) / liveKeys}}
		runtime.KeepAlive(e)
		return s, nil
	})
}

func heap() int64 {
	for range 2 { // the second frees what the first one's finalizers let go
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
