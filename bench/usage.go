package main

import (
	"flag"
	"fmt"

	"github.com/tierlimit/tierlimit/bench/internal/part"
)

// The words that stand for several parts, or for none.
const (
	compareAll = "compare" // the default
	scaleAll   = "scale"
	reportOnly = "report"
)

func choose(names []string) ([]part.Part, error) {
	if len(names) == 0 {
		names = []string{compareAll}
	}
	var chosen []part.Part
	for _, name := range names {
		found := name == reportOnly
		for _, p := range part.Parts {
			if p.Name == name || (name == compareAll && !p.Scale) || (name == scaleAll && p.Scale) {
				chosen, found = append(chosen, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no part %q: see -help", name)
		}
	}
	return chosen, nil
}

func usage(flags *flag.FlagSet) {
	out := flags.Output()
	fmt.Fprintln(out, "bench [flags] [part ...]\n\nMeasures the parts, then writes docs/benchmarks.md from all raw results.\n\nParts:")
	for _, p := range part.Parts {
		fmt.Fprintf(out, "  %-10s %s\n", p.Name, p.About)
	}
	fmt.Fprintf(out, "  %-10s all of them but the curves (the default)\n", compareAll)
	fmt.Fprintf(out, "  %-10s the curves: levels, keys, replicas, nodes\n", scaleAll)
	fmt.Fprintf(out, "  %-10s measure nothing\n\nFlags:\n", reportOnly)
	flags.PrintDefaults()
}
