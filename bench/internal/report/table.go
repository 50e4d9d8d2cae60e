package report

import (
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/result"
	"github.com/tierlimit/tierlimit/bench/internal/web"
)

// column is one of a table of limiters: a metric, and how to write it.
type column struct {
	title  string
	metric string
	write  func(float64) string
	ratio  bool // to the base, in parentheses
}

// table has a line for each limiter of a scenario. base, if it is one of them, is what ratios
// are taken to.
func table(f *result.File, scenario, base string, columns []column) string {
	titles := []string{""}
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	rows := [][]string{titles}
	for _, name := range f.Engines(scenario) {
		row := []string{emphasized(name)}
		for _, c := range columns {
			row = append(row, c.cell(f, scenario, name, base))
		}
		rows = append(rows, row)
	}
	return markdown(1, rows)
}

func (c column) cell(f *result.File, scenario, name, base string) string {
	value, ok := f.Median(scenario, name, c.metric)
	if !ok {
		return ""
	}
	text := c.write(value)
	if !c.ratio {
		return text
	}
	if r, ok := f.Ratio(scenario, name, base, c.metric); ok {
		text += " (" + ratio(r) + ")"
	}
	return text
}

// emphasized shows which limiters are ours, and which lines are yardsticks.
func emphasized(name string) string {
	for _, kinds := range [][]engine.Kind{engine.Shared, engine.Local, engine.NoStore, engine.Remembered, engine.Cluster, web.Kinds} {
		switch k, ok := engine.Find(kinds, name); {
		case ok && k.Ours:
			return "**" + name + "**"
		case ok && k.Reference:
			return "*" + name + "*"
		}
	}
	return name
}

// markdown aligns the first columns, names, to the left and the rest to the right.
func markdown(names int, rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", names) + strings.Repeat("|--:", len(row)-names) + "|\n")
		}
	}
	return b.String()
}
