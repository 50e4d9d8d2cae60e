package report

import (
	"slices"
	"strconv"

	"github.com/go-analyze/charts"
)

const (
	chartWidth = 860
	lineHeight = 64 // of one label in a bar chart
	headHeight = 120
	labelRoom  = 40
	legendTop  = 44 // below the title
)

// bars is a chart of horizontal bars: a group for each label, a colour for each series.
type bars struct {
	Title  string
	Format func(float64) string
	Labels []string
	Series []string
	values map[[2]int]float64
}

func (b *bars) add(label, series string, n int, value float64) {
	at := slices.Index(b.Labels, label)
	if at < 0 {
		at = len(b.Labels)
		b.Labels = append(b.Labels, label)
	}
	for len(b.Series) <= n {
		b.Series = append(b.Series, "")
	}
	b.Series[n] = series
	if b.values == nil {
		b.values = map[[2]int]float64{}
	}
	b.values[[2]int{n, at}] = value
}

func (b bars) svg() ([]byte, error) {
	data := make([][]float64, len(b.Series))
	for n := range data {
		for at := range b.Labels {
			value, ok := b.values[[2]int{n, at}]
			if !ok {
				value = charts.GetNullValue()
			}
			data[n] = append(data[n], value)
		}
		slices.Reverse(data[n]) // drawn from the bottom
	}
	labels := slices.Clone(b.Labels)
	slices.Reverse(labels)

	opt := charts.NewBarChartOptionWithData(data)
	opt.Horizontal = true
	opt.Title = title(b.Title)
	opt.Legend = legend(b.Series)
	opt.CategoryAxis.Labels = labels
	// Whoever looks at it may have a wider font than the one that it was laid out with.
	opt.CategoryAxis.LabelOffset = charts.OffsetInt{Left: -labelRoom}
	opt.Padding = charts.Box{Left: 16 + labelRoom, Top: 16, Right: 16 + labelRoom, Bottom: 16, IsSet: true}
	opt.ValueAxis[0].Min = new(0.0)
	opt.ValueAxis[0].LabelCount = 6
	opt.ValueFormatter = short
	for i := range opt.SeriesList {
		opt.SeriesList[i].Label = charts.SeriesLabel{Show: new(true), ValueFormatter: b.Format}
	}
	p := painter(headHeight + lineHeight*len(labels)*max(len(b.Series), 2)/3)
	if err := p.BarChart(opt); err != nil {
		return nil, err
	}
	return p.Bytes()
}

func painter(height int) *charts.Painter {
	return charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: height, Theme: charts.GetTheme(charts.ThemeLight),
	})
}

func title(text string) charts.TitleOption {
	return charts.TitleOption{Text: text, FontStyle: charts.NewFontStyleWithSize(15)}
}

// legend names the series; one alone is named by the title.
func legend(series []string) charts.LegendOption {
	if len(series) < 2 {
		return charts.LegendOption{SeriesNames: series, Show: new(false)}
	}
	return charts.LegendOption{
		SeriesNames: series, Offset: charts.OffsetStr{Left: charts.PositionCenter, Top: strconv.Itoa(legendTop)},
	}
}
