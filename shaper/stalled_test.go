//go:build unix

package shaper_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Processes that stand still for a moment wake up after the slots they hold, all at once. If they
// used them, their starts would crowd with those that follow.
func TestWorkersThatStandStillKeepThePace(t *testing.T) {
	t.Parallel()
	const jobs, quota = 200, 50
	server := redistest.Start(t)
	q := open(t, server.Client(t), core.PerSecond(quota))
	for i := range jobs {
		add(t, q, fmt.Sprint("job", i))
	}
	var workers []*process
	for i := range 5 {
		workers = append(workers, startWorker(t, order{Addr: server.Addr(), Quota: quota, Work: 5 * time.Millisecond}, fmt.Sprint("worker", i)))
	}
	signal := func(s syscall.Signal) {
		for _, w := range workers {
			_ = w.cmd.Process.Signal(s)
		}
	}
	for stats(t, q).Backlog > 0 {
		time.Sleep(time.Duration(200+rand.IntN(200)) * time.Millisecond)
		signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(70+rand.IntN(60)) * time.Millisecond)
		signal(syscall.SIGCONT)
	}
	var starts []time.Duration
	for _, w := range workers {
		_ = w.stdin.Close()
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("a worker ended with %v", err)
		}
		_, at := w.lines(t, "start")
		starts = append(starts, at...)
	}
	slices.Sort(starts)
	if len(starts) != jobs {
		t.Errorf("%d starts of %d jobs", len(starts), jobs)
	}
	for _, window := range []time.Duration{100 * time.Millisecond, time.Second} {
		if most, want := densest(starts, window), int(window*quota/time.Second)+1; most > want {
			t.Errorf("%d starts in %v, want at most %d", most, window, want)
		}
	}
	t.Logf("%d starts in %v, at most %d in a second, %d in 100 ms", len(starts), starts[len(starts)-1]-starts[0],
		densest(starts, time.Second), densest(starts, 100*time.Millisecond))
}
