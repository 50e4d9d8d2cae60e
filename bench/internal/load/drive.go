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

// Count is what goroutines did in one run.
type Count struct {
	Decisions, Denied, Errors int64
	Elapsed                   time.Duration
	Allocs, Bytes             uint64 // of the whole process
	Latency                   *hdrhistogram.Histogram
	FirstErr                  error
}

// Drive asks e from as many goroutines for that long. A decision under way at the end is
// finished and counted.
func Drive(ctx context.Context, e engine.Engine, space *Space, goroutines int, d time.Duration) Count {
	var stop atomic.Bool
	var done sync.WaitGroup
	begin := make(chan struct{})
	parts := make([]Count, goroutines)
	for i := range parts {
		parts[i].Latency = hdrhistogram.New(shortest, longest, digits)
		source := space.Source(i)
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
		_ = c.Latency.RecordValue(min(int64(now.Sub(last)), longest)) // in range, so no error
		last = now
		c.Decisions++
		switch {
		case err != nil:
			c.Errors++
			c.FirstErr = err
		case !ok:
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
	if part.FirstErr != nil {
		c.FirstErr = part.FirstErr
	}
}

// Exhaust asks once for every identity of the largest level, so that denied traffic finds
// nothing left.
func Exhaust(ctx context.Context, e engine.Engine, space *Space) {
	const workers = 16
	var done sync.WaitGroup
	most := 0
	for _, keys := range space.keys {
		most = max(most, len(keys))
	}
	for w := range workers {
		source := space.Source(w)
		done.Go(func() {
			for n := w; n < most; n += workers {
				_, _ = e.Take(ctx, source.Nth(n)) // what it answers is of no interest
			}
		})
	}
	done.Wait()
}
