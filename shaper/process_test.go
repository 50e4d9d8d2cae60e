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
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
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
