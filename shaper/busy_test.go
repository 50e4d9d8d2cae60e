package shaper_test

import (
	"sync"
	"testing"
	"time"
)

// watchTimers measures until stop is called whether this machine can hold a pace at all: stop
// returns the share of timers that were more than 5 ms late.
func watchTimers(t testing.TB) (stop func() float64) {
	quit, ended := make(chan struct{}), make(chan struct{})
	late, all := 0, 0
	go func() {
		defer close(ended)
		for {
			due := time.Now().Add(5 * time.Millisecond)
			select {
			case <-quit:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if all++; time.Since(due) > 5*time.Millisecond {
				late++
			}
		}
	}()
	stop = sync.OnceValue(func() float64 {
		close(quit)
		<-ended
		return float64(late) / float64(max(all, 1))
	})
	t.Cleanup(func() { stop() })
	return stop
}

// atLeast asserts a rate, which a machine whose timers are late for others' sake cannot reach.
func atLeast(t testing.TB, rate, wanted, late float64) {
	t.Helper()
	if rate >= 0.97*wanted {
		return
	}
	if late > 0.005 || raceEnabled {
		t.Logf("%.2f starts a second of %.2f, with %.1f %% of all timers late", rate, wanted, 100*late)
		return
	}
	t.Errorf("%.2f starts a second, want at least 0.97 of %.2f (%.1f %% of all timers late)", rate, wanted, 100*late)
}
