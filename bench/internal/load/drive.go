package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
)

// Latencies are kept from 100 ns to a minute, to two digits: steps of 1 %.
const (
	shortest = 100
	longest  = int64(time.Minute)
	digits   = 2
)

// afterError keeps a limiter that fails at once from getting the whole machine for failing, which
// would keep it from recovering.
const afterError = time.Millisecond

// Count is what goroutines did in one run.
type Count struct {
	Decisions, Denied, Errors int64
	Elapsed                   time.Duration
	Allocs, Bytes             uint64 // of the whole process
	Latency                   *hdrhistogram.Histogram
	Err                       error // one of them
}

// Drive asks e from as many goroutines for that long. A decision under way at the end is
// finished and counted.
func Drive(ctx context.Context, e engine.Engine, space *Space, goroutines int, d time.Duration) Count {
	return drive(ctx, e, space, 0, goroutines, d)
}

// Warm does the same with other requests: had they been asked before, callers that should be new
// would not be.
func Warm(ctx context.Context, e engine.Engine, space *Space, goroutines int, d time.Duration) {
	drive(ctx, e, space, warmSource, goroutines, d)
}

// warmSource is above the number of any goroutine.
const warmSource = 1 << 20

func drive(ctx context.Context, e engine.Engine, space *Space, first, goroutines int, d time.Duration) Count {
	var stop atomic.Bool
	var done sync.WaitGroup
	begin := make(chan struct{})
	parts := make([]Count, goroutines)
	for i := range parts {
		parts[i].Latency = hdrhistogram.New(shortest, longest, digits)
		source := space.Source(first + i)
		done.Go(func() {
			<-begin
			parts[i].work(ctx, e, source, &stop)
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	close(begin)
	done.Wait()
	timer.Stop()
	total := Count{Elapsed: time.Since(start), Latency: hdrhistogram.New(shortest, longest, digits)}
	runtime.ReadMemStats(&after)
	total.Allocs, total.Bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	for i := range parts {
		total.Add(&parts[i])
	}
	return total
}

// work reads the clock once a decision: the end of one is the begin of the next.
func (c *Count) work(ctx context.Context, e engine.Engine, source *Source, stop *atomic.Bool) {
	last := time.Now()
	for !stop.Load() {
		ok, err := e.Take(ctx, source.Next())
		now := time.Now()
		took := min(int64(now.Sub(last)), longest)
		last = now
		c.Decisions++
		if err != nil {
			c.Errors++
			c.Err = err
			time.Sleep(afterError)
			last = time.Now()
			continue
		}
		_ = c.Latency.RecordValue(took) // in range, so no error
		if !ok {
			c.Denied++
		}
	}
}

// Add adds what another goroutine, or process, did meanwhile.
func (c *Count) Add(part *Count) {
	c.Decisions += part.Decisions
	c.Denied += part.Denied
	c.Errors += part.Errors
	c.Latency.Merge(part.Latency)
	if part.Err != nil {
		c.Err = part.Err
	}
}

// Exhaust asks once for each of the first n identities, so that denied traffic finds nothing
// left.
func Exhaust(ctx context.Context, e engine.Engine, space *Space, n int) {
	const workers = 16
	var done sync.WaitGroup
	for w := range workers {
		source := space.Source(w)
		done.Go(func() {
			for i := w; i < n; i += workers {
				_, _ = e.Take(ctx, source.Nth(i)) // what it answers is of no interest
			}
		})
	}
	done.Wait()
}
