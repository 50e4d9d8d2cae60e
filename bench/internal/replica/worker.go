// Package replica measures several processes that share one Redis.
package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
)

// Order is what a worker reads from its standard input.
type Order struct {
	Engine   string
	Addr     string
	Pool     int
	Scenario load.Scenario
	Time     time.Duration
	At       time.Time // when to begin: all at once
}

// report is what it answers on its standard output.
type report struct {
	Decisions, Denied, Errors int64
	Elapsed                   time.Duration
	Allocs, Bytes             uint64
	Latency                   *hdrhistogram.Snapshot
	Error                     string
}

// Work carries out the order that it reads from in.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	var o Order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	k, ok := engine.Find(engine.Shared, o.Engine)
	if !ok {
		return fmt.Errorf("no engine %q", o.Engine)
	}
	e, err := k.Open(engine.Setup{Addr: o.Addr, Pool: o.Pool, Levels: o.Scenario.Levels, Limits: 1, Limit: o.Scenario.Traffic.Limit()})
	if err != nil {
		return err
	}
	defer e.Close()
	space := o.Scenario.Space()
	load.Warm(ctx, e, space, o.Scenario.Goroutines, time.Until(o.At)) // until all begin
	c := load.Drive(ctx, e, space, o.Scenario.Goroutines, o.Time)
	r := report{
		Decisions: c.Decisions, Denied: c.Denied, Errors: c.Errors, Elapsed: c.Elapsed,
		Allocs: c.Allocs, Bytes: c.Bytes, Latency: c.Latency.Export(),
	}
	if c.Err != nil {
		r.Error = c.Err.Error()
	}
	return json.NewEncoder(out).Encode(r)
}
