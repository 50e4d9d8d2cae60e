package shaper_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

// workerEnv makes the test binary a worker process; its value is an order.
const workerEnv = "SHAPER_TEST_WORKER"

type order struct {
	Addr  string
	Quota int64
	Work  time.Duration // that a handler takes
	Log   string        // a line a start and a line an end, written before anything else happens
}

// beWorker works until its standard input ends.
func beWorker(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return 2
	}
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 2
	}
	client := redis.NewClient(&redis.Options{Addr: o.Addr})
	q, err := shaper.New(client, "mail", core.PerSecond(o.Quota), shaper.WithClaimAfter(3*time.Second), shaper.WithLogger(quiet))
	if err != nil {
		return 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	err = q.Work(ctx, func(_ context.Context, j shaper.Job) error {
		fmt.Fprintf(log, "start %s %d\n", j.Payload, monotonic())
		time.Sleep(o.Work)
		_, err := fmt.Fprintf(log, "end %s %d\n", j.Payload, monotonic())
		return err
	})
	if err != nil {
		return 1
	}
	return 0
}

type process struct {
	cmd   *exec.Cmd
	log   string
	stdin io.Closer
}

func startWorker(t *testing.T, o order, name string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Log = filepath.Join(t.TempDir(), name)
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return &process{cmd, o.Log, stdin}
}

// lines are the payloads and instants that the process wrote so far, of "start" or of "end".
func (p *process) lines(t *testing.T, what string) (payloads []string, at []time.Duration) {
	t.Helper()
	file, err := os.Open(p.log)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		var payload string
		var ns int64
		if rest, ok := strings.CutPrefix(s.Text(), what+" "); ok {
			if _, err := fmt.Sscan(rest, &payload, &ns); err != nil {
				t.Fatalf("%q: %v", s.Text(), err)
			}
			payloads, at = append(payloads, payload), append(at, time.Duration(ns))
		}
	}
	return payloads, at
}

// densest is the largest number of instants in any window of that width, both ends included.
func densest(at []time.Duration, window time.Duration) int {
	at = slices.Clone(at)
	slices.Sort(at)
	most, from := 0, 0
	for i := range at {
		for at[i]-at[from] > window {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

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
