package redisstore_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// jitter measures by how much this machine is late with a timer of its own: what no program on
// it could do better. Latencies are judged beside it.
type jitter struct {
	worst atomic.Int64
	stop  chan struct{}
	once  sync.Once
	done  sync.WaitGroup
}

func measureJitter(t testing.TB) *jitter {
	j := &jitter{stop: make(chan struct{})}
	j.done.Go(func() {
		for {
			select {
			case <-j.stop:
				return
			default:
			}
			start := time.Now()
			time.Sleep(time.Millisecond)
			j.worst.Store(max(j.worst.Load(), int64(time.Since(start)-time.Millisecond)))
		}
	})
	t.Cleanup(j.end)
	return j
}

func (j *jitter) end() {
	j.once.Do(func() { close(j.stop) })
	j.done.Wait()
}

// within checks latencies against the budget. What is above it is ours only as far as the
// machine was not late itself; and it may be later with one of a hundred than it was with us.
func (j *jitter) within(t testing.TB, budget time.Duration, took ...time.Duration) {
	t.Helper()
	j.end()
	slices.Sort(took)
	worst, most, slowest := time.Duration(j.worst.Load()), took[(len(took)-1)*98/100], took[len(took)-1]
	t.Logf("budget %v: 98 of 100 within %v, all within %v; the machine itself was up to %v late",
		budget, most.Round(10*time.Microsecond), slowest.Round(10*time.Microsecond), worst.Round(10*time.Microsecond))
	if raceEnabled {
		return
	}
	allowed := budget + 50*time.Millisecond + 2*worst
	if most > allowed || slowest > allowed+10*budget {
		t.Errorf("want %v, and %v for the slowest", allowed, allowed+10*budget)
	}
}
