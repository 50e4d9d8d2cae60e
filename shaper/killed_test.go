package shaper_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

// Three worker processes at 50/s on 1,000 jobs, and one is killed in the middle of a job.
func TestKilledWorkerLosesNothingAndThePaceHolds(t *testing.T) {
	t.Parallel()
	const jobs, quota = 1000, 50
	server := redistest.Start(t)
	q := open(t, server.Client(t), core.PerSecond(quota), shaper.WithClaimAfter(3*time.Second))
	for i := range jobs {
		add(t, q, fmt.Sprint("job", i))
	}
	late := watchTimers(t)
	var workers []*process
	for i := range 3 {
		workers = append(workers, startWorker(t, order{Addr: server.Addr(), Quota: quota, Work: 25 * time.Millisecond}, fmt.Sprint("worker", i)))
	}
	victim := workers[0]
	eventually(t, 30*time.Second, "half of the jobs", func() bool { return stats(t, q).Done >= jobs/2 })
	cut := func() bool { // in the middle of a job
		begun, _ := victim.lines(t, "start")
		ended, _ := victim.lines(t, "end")
		return len(begun) == len(ended)+1
	}
	eventually(t, 5*time.Second, "a job in work", cut)
	_ = victim.cmd.Process.Kill()
	_ = victim.cmd.Wait()

	drained(t, q, 30*time.Second)
	share := late()
	for _, w := range workers[1:] {
		_ = w.stdin.Close()
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("a worker ended with %v", err)
		}
	}

	var starts []time.Duration
	begun, done := map[string]int{}, map[string]int{}
	for _, w := range workers {
		payloads, at := w.lines(t, "start")
		for _, p := range payloads {
			begun[p]++
		}
		starts = append(starts, at...)
		payloads, _ = w.lines(t, "end")
		for _, p := range payloads {
			done[p]++
		}
	}
	again := len(starts) - len(begun)
	if len(done) != jobs || stats(t, q) != (shaper.Stats{Done: jobs}) {
		t.Errorf("%d of %d jobs done; %+v", len(done), jobs, stats(t, q))
	}
	if most := densest(starts, time.Second); most > quota+1 {
		t.Errorf("%d starts in a second, want at most %d", most, quota+1)
	}
	if again > 1 {
		t.Errorf("%d repetitions, want none but of the job that was killed", again)
	}
	slices.Sort(starts)
	took := starts[len(starts)-1] - starts[0]
	rate := float64(len(starts)-1) / took.Seconds()
	t.Logf("%d starts (%d repeated) in %v: %.2f a second, at most %d in any second", len(starts), again, took, rate, densest(starts, time.Second))
	atLeast(t, rate, quota, share)
	if victim.cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("the victim was not killed: %v", victim.cmd.ProcessState)
	}
}
