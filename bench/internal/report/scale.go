package report

import (
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/result"
)

var (
	overScale = []column{
		{"decisions/s", load.PerSecond, count, true},
		{"p99", load.P99, micros, true},
		{"Redis CPU", load.RedisCPU, micros, true},
		{"allocs", load.Allocs, digits, false},
		{"errors", load.ErrorPart, share, false},
	}
	localScale = []column{{"ns", load.NsPerOp, nanos, true}, {"allocs", load.Allocs, digits, false}}
)

// growth is a property that grows: a table of all its steps, and a curve of one metric.
type growth struct {
	prefix  string // of its scenarios' names; the rest is the step
	chart   string // the file
	curve   curve
	base    string
	columns []column
}

func grow(f *result.File, marker string, list []growth) (output, error) {
	o := output{charts: map[string][]byte{}}
	var all strings.Builder
	for _, g := range list {
		for _, s := range f.Scenarios() {
			if step, ok := strings.CutPrefix(s, g.prefix); ok {
				g.curve.scenarios, g.curve.labels = append(g.curve.scenarios, s), append(g.curve.labels, mark(step))
			}
		}
		if len(g.curve.scenarios) == 0 {
			continue
		}
		all.WriteString(g.table(f) + "\n")
		svg, err := g.curve.svg(f)
		if err != nil {
			return o, err
		}
		o.charts[g.chart] = svg
	}
	o.tables = map[string]string{marker: all.String()}
	return o, nil
}

func (g growth) table(f *result.File) string {
	titles := []string{g.curve.axis, ""}
	for _, c := range g.columns {
		titles = append(titles, c.title)
	}
	rows := [][]string{titles}
	for i, s := range g.curve.scenarios {
		for _, name := range f.Engines(s) {
			row := []string{g.curve.labels[i], emphasized(name)}
			for _, c := range g.columns {
				row = append(row, c.cell(f, s, name, g.base))
			}
			rows = append(rows, row)
		}
	}
	return markdown(2, rows)
}

func levels(f *result.File) (output, error) {
	return grow(f, "levels", []growth{
		{"levels=", "scale-levels.svg", curve{
			title: "Redis CPU for a decision, in microseconds", axis: "levels", metric: load.RedisCPU,
		}, engine.RedisRate, overScale},
		{"limits=", "scale-limits.svg", curve{
			title: "Redis CPU for a decision, in microseconds", axis: "limits in one level", metric: load.RedisCPU,
		}, "", overScale},
	})
}

func keys(f *result.File) (output, error) {
	return grow(f, "keys", []growth{
		{"redis/keys=", "scale-redis-keys.svg", curve{
			title: "Decisions a second over Redis, one level", axis: "keys in Redis", metric: load.PerSecond,
		}, engine.RedisRate, overScale},
		{"in process/keys=", "scale-in-process-keys.svg", curve{
			title: "Nanoseconds for a decision in process, one level", axis: "keys in process", metric: load.NsPerOp,
		}, engine.XRate, localScale},
	})
}

func replicas(f *result.File) (output, error) {
	return grow(f, "replicas", []growth{
		{"replicas=", "scale-replicas.svg", curve{
			title: "Decisions a second of all replicas together, one Redis", axis: "replicas", metric: load.PerSecond,
		}, engine.RedisRate, overScale},
	})
}

func nodes(f *result.File) (output, error) {
	return grow(f, "nodes", []growth{
		{"nodes=", "scale-nodes.svg", curve{
			title: "Redis CPU for a decision of three levels, all nodes together, in microseconds", axis: "primaries", metric: load.RedisCPU,
		}, "", overScale},
	})
}
