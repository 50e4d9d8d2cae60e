package replica

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tierlimit/tierlimit/bench/internal/load"
)

// Argument makes this program a worker.
const Argument = "worker"

// StartWait is what n processes need to be up: they start on the cores that they then share.
func StartWait(n int) time.Duration { return time.Second + time.Duration(n)*100*time.Millisecond }

// Group is replicas that are given the same order.
type Group struct {
	Size   int
	Order  Order
	Server *load.Server
}

// Measure begins at that time and sums up what the replicas did.
func (g Group) Measure(ctx context.Context, at time.Time) (load.Sample, error) {
	g.Order.At = at
	var done sync.WaitGroup
	counts, failed := make([]load.Count, g.Size), make([]error, g.Size)
	for i := range g.Size {
		done.Go(func() { counts[i], failed[i] = g.start(ctx) })
	}
	time.Sleep(time.Until(at))
	before, err := g.Server.Usage(ctx)
	if err != nil {
		failed = append(failed, err)
	}
	time.Sleep(g.Order.Time)
	after, err := g.Server.Usage(ctx)
	done.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		return load.Sample{}, err
	}
	total := counts[0]
	for _, c := range counts[1:] {
		total.Add(&c)
		total.Allocs, total.Bytes, total.Elapsed = total.Allocs+c.Allocs, total.Bytes+c.Bytes, max(total.Elapsed, c.Elapsed)
	}
	s := load.Sample{Metrics: total.Metrics()}
	s.Metrics.AddServer(before, after, total.Made())
	if total.Err != nil {
		s.Error = total.Err.Error()
	}
	return s, nil
}

func (g Group) start(ctx context.Context) (load.Count, error) {
	self, err := os.Executable()
	if err != nil {
		return load.Count{}, err
	}
	order, err := json.Marshal(g.Order)
	if err != nil {
		return load.Count{}, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, Argument)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return load.Count{}, fmt.Errorf("replica: %w", err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return load.Count{}, fmt.Errorf("replica's answer: %w", err)
	}
	c := load.Count{
		Decisions: r.Decisions, Denied: r.Denied, Errors: r.Errors, Elapsed: r.Elapsed,
		Allocs: r.Allocs, Bytes: r.Bytes, Latency: hdrhistogram.Import(r.Latency),
	}
	if r.Error != "" {
		c.Err = errors.New(r.Error)
	}
	return c, nil
}
