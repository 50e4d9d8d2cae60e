// Package part has the parts of the comparison, one file each: what is measured, against whom,
// in which order.
package part

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/result"
)

// Options are what the command line says.
type Options struct {
	Time     time.Duration // of one run
	Rounds   int
	Pool     int
	All      bool           // every combination, not the standard ones
	Big      bool           // the sizes that need gigabytes
	Scenario *regexp.Regexp // measure only these
	Engine   *regexp.Regexp
	Progress io.Writer
}

// Part measures one thing and gives its rows in the order in which they were measured.
type Part struct {
	Name  string
	About string
	Scale bool // a curve, not part of the comparison
	run   func(context.Context, *bench) error
}

// Parts in the order in which they are run.
var Parts = []Part{
	{Name: "store", About: "every limiter over Redis", run: store},
	{Name: "roundtrip", About: "over Redis that is 2.4 ms away", run: roundTrip},
	{Name: "inprocess", About: "every limiter in process", run: inProcess},
	{Name: "memory", About: "memory per key", run: memory},
	{Name: "headers", About: "what a decision's headers cost", run: headers},
	{Name: "http", About: "a whole gin service", run: whole},
	{Name: "levels", About: "more levels, more limits in one level", Scale: true, run: levels},
	{Name: "keys", About: "more keys", Scale: true, run: keys},
	{Name: "replicas", About: "more processes on one Redis", Scale: true, run: replicas},
	{Name: "nodes", About: "more primaries in a Cluster", Scale: true, run: nodes},
}

// bench is one part being measured.
type bench struct {
	Options
	host   *host
	server *load.Server
	addr   string
	file   *result.File
}

// Measure runs p against a Redis server of its own.
func (p Part) Measure(ctx context.Context, o Options) (*result.File, error) {
	h := &host{}
	defer h.close()
	b := &bench{Options: o, host: h}
	err := h.run(func() error {
		b.addr = startRedis(h)
		b.server = load.NewServer(b.addr)
		defer b.server.Close()
		b.file = &result.File{
			Part: p.Name, Machine: result.ThisMachine(ctx, b.server),
			Settings: result.Settings{Time: o.Time.String(), Rounds: o.Rounds, Pool: o.Pool},
		}
		if err := p.run(ctx, b); err != nil {
			return err
		}
		if len(b.file.Rows) == 0 {
			return errors.New("no scenario or no engine matches")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return b.file, nil
}

func (b *bench) wants(scenario string, k engine.Kind) bool {
	return b.Scenario.MatchString(scenario) && b.Engine.MatchString(k.Name)
}

// add keeps one run's figures.
func (b *bench) add(scenario, name string, round int, s load.Sample) {
	b.file.Rows = append(b.file.Rows, result.Row{Scenario: scenario, Engine: name, Round: round, Metrics: s.Metrics, Error: s.Error})
	fmt.Fprintf(b.Progress, "%s %s, round %d: %s, %s %s\n", b.file.Part, scenario, round+1, name, s.Metrics, s.Error)
}

func (b *bench) setup(levels int, t load.Traffic) engine.Setup {
	return engine.Setup{Addr: b.addr, Pool: b.Pool, Levels: levels, Limits: 1, Limit: t.Limit()}
}

// rounds measures all kinds once, then all of them again: what disturbs the machine for a
// moment then hits one round of all and not all rounds of one.
func (b *bench) rounds(scenario string, kinds []engine.Kind, one func(engine.Kind) (load.Sample, error)) error {
	for round := range b.Rounds {
		for _, k := range kinds {
			if !b.wants(scenario, k) {
				continue
			}
			s, err := one(k)
			if err != nil {
				return err
			}
			b.add(scenario, k.Name, round, s)
		}
	}
	return nil
}
