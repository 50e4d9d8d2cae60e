package report

import (
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/result"
)

var overRedis = []column{
	{"decisions/s", load.PerSecond, count, true},
	{"p50", load.P50, micros, false},
	{"p99", load.P99, micros, true},
	{"Redis CPU", load.RedisCPU, micros, true},
	{"socket reads", load.RoundTrips, digits, false},
	{"commands", load.RedisCalls, digits, false},
	{"allocs", load.Allocs, digits, false},
	{"bytes", load.AllocBytes, nanos, false},
	{"denied", load.DeniedPart, share, false},
	{"errors", load.ErrorPart, share, false},
}

func store(f *result.File) (output, error) {
	var all strings.Builder
	for _, scenario := range f.Scenarios() {
		all.WriteString("### " + inWords(scenario) + "\n\n" + table(f, scenario, engine.RedisRate, overRedis) + "\n")
	}
	o := output{tables: map[string]string{"store": all.String(), "summary": summary(f)}}
	var err error
	o.charts, err = storeCharts(f)
	return o, err
}

// summary is decisions/s of all scenarios over the base's in the same scenario.
func summary(f *result.File) string {
	scenarios := f.Scenarios()
	titles := []string{""}
	for _, s := range scenarios {
		titles = append(titles, inWords(s))
	}
	rows := [][]string{titles}
	for _, k := range engine.Shared {
		row, seen := []string{emphasized(k.Name)}, false
		for _, s := range scenarios {
			r, ok := f.Ratio(s, k.Name, engine.RedisRate, load.PerSecond)
			cell := ""
			if ok {
				cell, seen = ratio(r), true
			}
			row = append(row, cell)
		}
		if seen {
			rows = append(rows, row)
		}
	}
	return markdown(1, rows)
}

func storeCharts(f *result.File) (map[string][]byte, error) {
	kinds := []load.Traffic{load.Busy, load.Calm, load.Denied, load.DeniedLast}
	throughput := bars{Title: "Decisions a second: 3 levels, 128 goroutines", Format: count}
	tail := bars{Title: "p99 in milliseconds: 3 levels, 128 goroutines", Format: digits}
	for _, k := range engine.Shared {
		if k.Reference {
			continue
		}
		for i, t := range kinds {
			name := load.Scenario{Levels: 3, Goroutines: 128, Keys: load.Uniform, Traffic: t}.Name()
			if v, ok := f.Median(name, k.Name, load.PerSecond); ok {
				throughput.add(k.Name, string(t), i, v)
			}
			if v, ok := f.Median(name, k.Name, load.P99); ok {
				tail.add(k.Name, string(t), i, v/1000)
			}
		}
	}
	charts := map[string][]byte{}
	for name, b := range map[string]bars{"store-throughput.svg": throughput, "store-p99.svg": tail} {
		if len(b.Labels) == 0 {
			continue // none of them was measured
		}
		svg, err := b.svg()
		if err != nil {
			return nil, err
		}
		charts[name] = svg
	}
	return charts, nil
}
