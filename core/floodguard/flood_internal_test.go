package floodguard

import (
	"flag"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

var floodKeys = flag.Int("flood", 300_000, "distinct keys of TestFlood, 1 or 3 times a power of ten, at least 300000; docs/flood-guard.md has 10 million")

const (
	floodDelta     = 0.01
	floodThreshold = 30
	floodRefuse    = 100
)

// epsilonFor makes a guard of so many bytes.
func epsilonFor(memory int) float64 { return math.E / (float64(memory-20_000) / (sketches * 4 * 5)) }

// flood sends keys from up to to, each asking for 1 unit, and a thousandth as many requests of ten
// hot keys. It counts the cold keys by verdict, and the refusals of hot ones.
func flood(g *Guard, from, to int) (cold [3]int, hot int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			var mine [3]int
			refused, key := 0, []byte("1t:shop::ip:60s:")
			prefix := len(key)
			for i := from + w; i < to; i += workers {
				key = strconv.AppendInt(key[:prefix], int64(i), 10)
				v, _ := g.Admit(unsafe.String(&key[0], len(key)), 1)
				mine[v]++
				if i%1000 == 0 {
					if v, _ := g.Admit(hotKeys[i/1000%len(hotKeys)], 1); v == core.RefuseKey {
						refused++
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for v := range cold {
				cold[v] += mine[v]
			}
			hot += refused
		})
	}
	wg.Wait()
	return cold, hot
}

var hotKeys = strings.Fields("hot0 hot1 hot2 hot3 hot4 hot5 hot6 hot7 hot8 hot9")

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A flood of keys that are seen once: memory stays what it was, no key is refused wrongly, and the
// sketch that is too small says so.
func TestFlood(t *testing.T) {
	t.Log("memory,keys,seconds,keys_per_second,error,too_small,share_checked,share_refused_by_default,share_refused_wrongly,share_refused_without_margin,delta,hot_refusals,heap_growth")
	for _, memory := range []int{1 << 20, 64 << 20} {
		options := []Option{
			WithError(epsilonFor(memory), floodDelta), WithThreshold(floodThreshold), WithWindow(24 * time.Hour),
			WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		}
		plain, err := New(options...)
		if err != nil {
			t.Fatal(err)
		}
		refusing, err := New(append(options, WithRefuseAbove(floodRefuse))...)
		if err != nil {
			t.Fatal(err)
		}
		before, from := heap(), 0
		for _, keys := range loads(*floodKeys) {
			start := time.Now()
			byDefault, _ := flood(plain, from, keys)
			took := time.Since(start)
			asked, hot := flood(refusing, from, keys)
			grown, s := heap()-before, plain.Stats()
			share := func(n int) float64 { return float64(n) / float64(keys-from) }
			t.Logf("%d,%d,%.3f,%.0f,%d,%v,%.6f,%.6f,%.6f,%.6f,%v,%d,%d", s.Memory, keys, took.Seconds(), float64(keys-from)/took.Seconds(), s.Error, s.TooSmall,
				share(byDefault[core.CheckKey]), share(byDefault[core.RefuseKey]), share(asked[core.RefuseKey]), naive(refusing, keys), floodDelta, hot, grown)
			from = keys
			if s.Memory > memory || s.Memory < memory*95/100 || grown > 100_000 {
				t.Errorf("%d bytes, want %d; the heap grew by %d", s.Memory, memory, grown)
			}
			if n := byDefault[core.RefuseKey]; n != 0 {
				t.Errorf("%d keys refused by default", n)
			}
			if got := share(asked[core.RefuseKey]); got > floodDelta {
				t.Errorf("%v of the keys are refused wrongly", got)
			}
			if got := share(byDefault[core.CheckKey]); !s.TooSmall && got > floodDelta {
				t.Errorf("%v of the keys are checked by a sketch that is large enough", got)
			}
			if s.TooSmall != (s.Error >= floodThreshold) {
				t.Errorf("%+v", s)
			}
			if refusable := keys/1000/len(hotKeys) > floodRefuse+int(s.Error); refusable && s.Error < floodRefuse && hot == 0 {
				t.Errorf("no hot key is refused: %+v", s)
			}
		}
		if s := plain.Stats(); s.TooSmall != (memory < 64<<20) {
			t.Errorf("in the end: %+v", s)
		}
	}
}

// loads are 1000, 3000, 10,000 and so on.
func loads(most int) (out []int) {
	for n := 1000; n <= most; n *= 10 {
		out = append(out, n)
		if 3*n <= most {
			out = append(out, 3*n)
		}
	}
	return out
}

// naive is the share of the keys whose estimate alone is above the threshold of refusal.
func naive(g *Guard, keys int) float64 {
	above, step := 0, max(1, keys/10_000)
	for i := 0; i < keys; i += step {
		var p countmin.Places
		g.shape.Place(maphash.String(g.seed, fmt.Sprint("1t:shop::ip:60s:", i)), &p)
		if g.current.Load().estimate(&p).sum() >= floodRefuse {
			above++
		}
	}
	return float64(above) / float64((keys+step-1)/step)
}
