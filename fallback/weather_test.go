package fallback_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

var (
	weatherFor  = flag.Duration("weather", 6*time.Second, "how long TestRandomFaults lasts")
	weatherSeed = flag.Uint64("weather-seed", 0, "its seed; 0: a new one")
)

// weather is three replicas, each with a network of its own to one server, and what they saw.
type weather struct {
	server   *redistest.Server
	proxies  []*redistest.Proxy
	limiters []*core.Limiter

	admitted, requests, odd atomic.Int64
	slowest, stalled        atomic.Int64 // nanoseconds: of a decision, and of a goroutine that only sleeps
	away                    time.Duration
	restarts, bouts         int
}

// Whatever comes, in whatever order: every decision is quick, nothing is refused for want of Redis, no
// more is admitted than is promised, and in the end all replicas are back with nothing left behind.
func TestRandomFaults(t *testing.T) {
	seed := *weatherSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-weather %v -weather-seed %d", *weatherFor, seed)
	w := newWeather(t)
	eventually(t, "replicas have counted each other", 10*time.Second, func() bool { return w.shared(t) })
	time.Sleep(4 * time.Second) // for a second count of all

	goroutines := runtime.NumGoroutine()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { w.control(stop) })
	for _, l := range w.limiters {
		wg.Go(func() { w.load(l, stop) })
	}
	begin, r := time.Now(), rand.New(rand.NewPCG(seed, 0))
	var heap []uint64
	for time.Since(begin) < *weatherFor {
		w.fault(r)
		heap = append(heap, heapInUse())
	}
	back := eventually(t, "every replica is back", 5*time.Second, func() bool { return w.shared(t) })
	took := time.Since(begin)
	close(stop)
	wg.Wait()
	w.judge(t, took)
	t.Logf("%d bouts, back after %v, heap %d kB at first and %d kB at last", w.bouts, back, heap[0]>>10, heap[len(heap)-1]>>10)
	// Each connection in a pool is goroutines of the proxy's; what go-redis still dials or reads, it gives up within 5 s.
	for _, p := range w.proxies {
		p.CloseAll()
	}
	const more = 10 // each local store sweeps by now, and a heartbeat has its connection
	eventually(t, "no more goroutines than before", 10*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines+more })
	t.Logf("%d goroutines at first and %d at last", goroutines, runtime.NumGoroutine())
	if first, last := heap[0], heap[len(heap)-1]; last > 2*first+16<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", first, last)
	}
}

func newWeather(t *testing.T) *weather {
	w := &weather{server: redistest.Start(t)}
	for range 3 {
		proxy := redistest.StartProxy(t, w.server.Addr())
		client := redis.NewClient(clients["default"](proxy.Addr()))
		s := wrap(t, redisstore.Must(client, redisstore.WithBudget(budget)))
		t.Cleanup(func() { _ = client.Close() })
		w.proxies = append(w.proxies, proxy)
		w.limiters = append(w.limiters, limiter(t, s, core.PerUser(core.PerSecond(quota).WithBurst(burst)), core.Global(core.PerSecond(100_000))))
	}
	return w
}

// shared reports whether every replica's next decision is the shared store's.
func (w *weather) shared(t *testing.T) bool {
	t.Helper()
	for _, l := range w.limiters {
		if d := l.Peek(t.Context(), user); d.Source != core.FromShared && d.Source != core.FromCache {
			return false
		}
	}
	return true
}

// load asks for more than the limit, each request on its own.
func (w *weather) load(l *core.Limiter, stop chan struct{}) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
		wg.Go(func() {
			start := time.Now()
			d := l.Check(context.Background(), user)
			highest(&w.slowest, time.Since(start))
			w.requests.Add(1)
			switch {
			case d.Allowed:
				w.admitted.Add(1)
			case d.Reason != core.Quota:
				w.odd.Add(1)
			}
		})
	}
}

// control finds out by how much the machine itself holds goroutines up.
func (w *weather) control(stop chan struct{}) {
	for {
		start := time.Now()
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
			highest(&w.stalled, time.Since(start)-time.Millisecond)
		}
	}
}

func highest(most *atomic.Int64, d time.Duration) {
	for old := most.Load(); int64(d) > old && !most.CompareAndSwap(old, int64(d)); old = most.Load() {
		continue
	}
}

// fault has something happen, to all replicas or to one, and a while of peace after it.
func (w *weather) fault(r *rand.Rand) {
	during := time.Duration(100+r.IntN(1500)) * time.Millisecond
	hit := w.proxies
	if r.IntN(2) == 0 {
		hit = w.proxies[r.IntN(3):][:1]
	}
	begin, kind := time.Now(), r.IntN(8)
	switch kind {
	case 0:
		w.server.Kill()
		time.Sleep(during)
		w.server.Restart()
		w.restarts++
	case 1:
		w.server.Stop()
		time.Sleep(during)
		w.server.Cont()
	default:
		for _, p := range hit {
			switch kind {
			case 2:
				p.SetMode(redistest.BlackHole)
			case 3:
				p.SynHole()
				p.CloseAll()
			case 4:
				p.SetMode(redistest.SwallowReplies)
			case 5:
				p.SetMode(redistest.HalfReply)
			case 6:
				p.SetDelay(time.Duration(20+r.IntN(200)) * time.Millisecond)
			case 7:
				p.CloseAll()
			}
		}
		time.Sleep(during)
		for _, p := range hit {
			p.Heal()
			p.SetDelay(0)
		}
	}
	w.away += time.Since(begin)
	w.bouts++
	time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
}

// judge holds what was seen to the promises of docs/failure.md.
func (w *weather) judge(t *testing.T, took time.Duration) {
	t.Helper()
	const lag = 1500 * time.Millisecond // from when Redis can answer until it is asked
	at := func(d time.Duration) int64 { return int64(quota * d.Seconds()) }
	ideal := burst + at(took)
	// In each bout every replica may spend its share again, and a restart gives a burst.
	most := ideal + at(w.away) + int64(w.bouts)*(burst+at(lag)) + int64(w.restarts)*burst
	admitted, slowest, stalled := w.admitted.Load(), time.Duration(w.slowest.Load()), time.Duration(w.stalled.Load())
	t.Logf("%v: %d of %d admitted, %.2f of the ideal, at most %d; slowest %v, the machine stalled for up to %v", took.Round(time.Second), admitted, w.requests.Load(), float64(admitted)/float64(ideal), most, slowest, stalled)
	if admitted > most {
		t.Errorf("%d admitted, want at most %d", admitted, most)
	}
	if float64(admitted) < 0.8*float64(ideal) && !raceEnabled {
		t.Errorf("%d admitted, want most of %d", admitted, ideal)
	}
	if n := w.odd.Load(); n > 0 {
		t.Errorf("%d requests refused for another reason than their quota", n)
	}
	if most := budget + 50*time.Millisecond + 2*stalled; slowest > most && !raceEnabled {
		t.Errorf("slowest decision %v, want at most %v", slowest, most)
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
