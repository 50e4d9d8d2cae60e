package report

import (
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/result"
	"github.com/tierlimit/tierlimit/bench/internal/web"
)

// each has a table for every scenario, under one marker.
func each(f *result.File, marker, base string, columns []column) (output, error) {
	var all strings.Builder
	for _, scenario := range f.Scenarios() {
		all.WriteString("**" + inWords(scenario) + "**\n\n" + table(f, scenario, base, columns) + "\n")
	}
	return output{tables: map[string]string{marker: all.String()}}, nil
}

func roundTrip(f *result.File) (output, error) {
	return each(f, "roundtrip", engine.RedisRate, []column{
		{"decisions/s", load.PerSecond, count, true},
		{"p50", load.P50, micros, false},
		{"p99", load.P99, micros, true},
		{"Redis CPU", load.RedisCPU, micros, true},
		{"socket reads", load.RoundTrips, digits, false},
		{"errors", load.ErrorPart, share, false},
	})
}

func memory(f *result.File) (output, error) {
	return each(f, "memory", engine.XRate, []column{{"bytes a key", load.BytesPerKey, digits, true}})
}

func headers(f *result.File) (output, error) {
	return each(f, "headers", "", []column{
		{"ns", load.NsPerOp, nanos, false}, {"allocs", load.Allocs, digits, false}, {"bytes", load.AllocBytes, nanos, false},
	})
}

func whole(f *result.File) (output, error) {
	return each(f, "http", web.Bare, []column{
		{"requests/s", load.PerSecond, count, true},
		{"p50", load.P50, micros, false},
		{"p99", load.P99, micros, true},
		{"allocs", load.Allocs, digits, false},
		{"errors", load.ErrorPart, share, false},
	})
}

// inProcess is one table: the scenarios are its columns.
func inProcess(f *result.File) (output, error) {
	scenarios := f.Scenarios()
	titles := []string{""}
	for _, s := range scenarios {
		titles = append(titles, inWords(s))
	}
	rows := [][]string{titles}
	chart := bars{Title: "Nanoseconds for a decision in process: zipf keys, all cores", Format: nanos}
	for _, k := range engine.Local {
		row, seen := []string{emphasized(k.Name)}, false
		for _, s := range scenarios {
			ns, ok := f.Median(s, k.Name, load.NsPerOp)
			allocs, _ := f.Median(s, k.Name, load.Allocs)
			if !ok {
				row = append(row, "")
				continue
			}
			seen = true
			cell := column{metric: load.NsPerOp, write: nanos, ratio: true}.cell(f, s, k.Name, engine.XRate)
			row = append(row, cell+", "+nanos(allocs))
			if strings.HasSuffix(s, "keys=zipf/parallel") && !k.Reference {
				n := 0
				if strings.HasPrefix(s, "levels=3") {
					n = 1
				}
				chart.add(k.Name, inWords(strings.SplitN(s, "/", 2)[0]), n, ns)
			}
		}
		if seen {
			rows = append(rows, row)
		}
	}
	o := output{tables: map[string]string{"inprocess": markdown(1, rows)}}
	if len(chart.Labels) == 0 {
		return o, nil
	}
	svg, err := chart.svg()
	o.charts = map[string][]byte{"inprocess.svg": svg}
	return o, err
}
