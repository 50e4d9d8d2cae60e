package report

import (
	"strconv"
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/result"
)

var overScale = []column{
	{"decisions/s", load.PerSecond, count, true},
	{"p99", load.P99, micros, true},
	{"Redis CPU", load.RedisCPU, micros, true},
	{"allocs", load.Allocs, digits, false},
	{"errors", load.ErrorPart, share, false},
}

// curves draws one chart for each prefix of scenario names, "levels=" say, and one table of all.
func curves(f *result.File, marker, base string, list map[string]curve) (output, error) {
	o, err := each(f, marker, base, columnsOf(f, overScale))
	if err != nil {
		return o, err
	}
	o.charts = map[string][]byte{}
	for prefix, c := range list {
		for _, s := range f.Scenarios() {
			if value, ok := strings.CutPrefix(s, prefix); ok {
				c.scenarios, c.labels = append(c.scenarios, s), append(c.labels, mark(value))
			}
		}
		if len(c.scenarios) < 2 {
			continue // a point is no curve
		}
		svg, err := c.svg(f)
		if err != nil {
			return o, err
		}
		name := strings.NewReplacer(" ", "-", "/", "-", "=", "").Replace(prefix)
		o.charts["scale-"+name+".svg"] = svg
	}
	return o, nil
}

func mark(number string) string {
	if v, err := strconv.ParseFloat(number, 64); err == nil {
		return short(v)
	}
	return number
}

// columnsOf adds what only parts in process have.
func columnsOf(f *result.File, columns []column) []column {
	for _, r := range f.Rows {
		if _, ok := r.Metrics[load.NsPerOp]; ok {
			return append([]column{{"ns", load.NsPerOp, nanos, false}}, columns...)
		}
	}
	return columns
}

func levels(f *result.File) (output, error) {
	return curves(f, "levels", engine.RedisRate, map[string]curve{
		"levels=": {title: "Redis CPU for a decision, in microseconds", axis: "levels", metric: load.RedisCPU},
		"limits=": {title: "Redis CPU for a decision, in microseconds", axis: "limits in one level", metric: load.RedisCPU},
	})
}

func keys(f *result.File) (output, error) {
	return curves(f, "keys", engine.RedisRate, map[string]curve{
		"redis/keys=":      {title: "Decisions a second over Redis, one level", axis: "keys", metric: load.PerSecond},
		"in process/keys=": {title: "Nanoseconds for a decision in process, one level", axis: "keys", metric: load.NsPerOp},
	})
}

func replicas(f *result.File) (output, error) {
	return curves(f, "replicas", engine.RedisRate, map[string]curve{
		"replicas=": {title: "Decisions a second of all replicas together, one Redis", axis: "replicas", metric: load.PerSecond},
	})
}
