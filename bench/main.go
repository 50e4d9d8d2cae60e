// Command bench measures tierlimit beside other limiters, on the same work, in one process and
// against one private Redis server, and writes what it finds into docs/benchmarks.md.
//
//	go run . [flags] [part ...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/part"
	"github.com/tierlimit/tierlimit/bench/internal/replica"
	"github.com/tierlimit/tierlimit/bench/internal/report"
)

func main() {
	testing.Init() // its benchmarks are used outside a test
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == replica.Argument {
		return replica.Work(ctx, os.Stdin, os.Stdout)
	}
	o := part.Options{Progress: os.Stderr}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.DurationVar(&o.Time, "time", time.Second, "how long one run measures")
	flags.IntVar(&o.Rounds, "rounds", 5, "how often each run is repeated, all engines in turn")
	flags.IntVar(&o.Pool, "pool", 128, "connections of every client whose pool can be set; 0: its own default")
	flags.BoolVar(&o.All, "all", false, "part store: every combination of levels, traffic, keys and goroutines")
	flags.BoolVar(&o.Big, "big", false, "part keys: ten million as well, which needs gigabytes")
	scenario := flags.String("run", "", "only scenarios whose name matches this expression: shown, not kept")
	kind := flags.String("engines", "", "only engines whose name matches this expression: shown, not kept")
	results := flags.String("results", "results", "directory of the raw results")
	docs := flags.String("docs", "../docs", "directory of benchmarks.md and of img; empty: write no docs")
	flags.Usage = func() { usage(flags) }
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.Scenario, err = regexp.Compile(*scenario); err != nil {
		return err
	}
	if o.Engine, err = regexp.Compile(*kind); err != nil {
		return err
	}
	parts, err := choose(flags.Args())
	if err != nil {
		return err
	}
	partial := *scenario != "" || *kind != ""
	for _, p := range parts {
		file, err := p.Measure(ctx, o)
		if err != nil {
			return err
		}
		// A part of a part would replace the whole of it.
		if partial {
			err = report.Print(os.Stdout, file)
		} else {
			err = file.Write(*results)
		}
		if err != nil {
			return err
		}
	}
	if partial || *docs == "" {
		return nil
	}
	return report.Write(*results, *docs)
}
