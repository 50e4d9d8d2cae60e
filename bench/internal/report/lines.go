package report

import (
	"github.com/go-analyze/charts"

	"github.com/tierlimit/tierlimit/bench/internal/result"
)

const lineChartHeight = 420

// curve is a chart of one metric over scenarios that differ in one number.
type curve struct {
	title, axis string
	metric      string
	scenarios   []string
	labels      []string // of the scenarios, on the axis
}

func (c curve) svg(f *result.File) ([]byte, error) {
	engines := f.Engines(c.scenarios[0])
	data := make([][]float64, len(engines))
	for i, name := range engines {
		for _, scenario := range c.scenarios {
			value, ok := f.Median(scenario, name, c.metric)
			if !ok {
				value = charts.GetNullValue()
			}
			data[i] = append(data[i], value)
		}
	}
	opt := charts.NewLineChartOptionWithData(data)
	opt.Title = title(c.title)
	opt.Legend = legend(engines)
	opt.XAxis.Labels = c.labels
	opt.XAxis.Title = c.axis
	opt.YAxis[0].Min = new(0.0)
	opt.YAxis[0].ValueFormatter = short
	opt.Padding = charts.NewBoxEqual(16)
	p := painter(lineChartHeight)
	if err := p.LineChart(opt); err != nil {
		return nil, err
	}
	return p.Bytes()
}
