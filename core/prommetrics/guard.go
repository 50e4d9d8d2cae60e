package prommetrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tierlimit/tierlimit/core/floodguard"
)

// hotKeys is how many keys are shown: each is a series for as long as it is one of them.
const hotKeys = 10

// Guard registers what a flood guard counts and its ten hottest keys, by hash. For several guards give
// each its own labels with prometheus.WrapRegistererWith.
func Guard(reg prometheus.Registerer, g *floodguard.Guard) error {
	requests := func(verdict string, of func(floodguard.Stats) uint64) prometheus.Collector {
		return counter("tierlimit_guard_requests_total", "Requests at a guarded level, by what the guard said of them.",
			prometheus.Labels{"verdict": verdict}, func() uint64 { return of(g.Stats()) })
	}
	gauge := func(name, help string, of func(floodguard.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(g.Stats()) })
	}
	return register(
		reg,
		requests("passed", func(s floodguard.Stats) uint64 { return s.Passed }),
		requests("checked", func(s floodguard.Stats) uint64 { return s.Checked }),
		requests("refused", func(s floodguard.Stats) uint64 { return s.Refused }),
		gauge("tierlimit_guard_memory_bytes", "What the guard takes; it does not change.",
			func(s floodguard.Stats) float64 { return float64(s.Memory) }),
		gauge("tierlimit_guard_error_units", "Units by which an estimate may be too high.",
			func(s floodguard.Stats) float64 { return float64(s.Error) }),
		gauge("tierlimit_guard_too_small", "1 while that is at least the guard's threshold.", func(s floodguard.Stats) float64 {
			if s.TooSmall {
				return 1
			}
			return 0
		}),
		hottest{g, prometheus.NewDesc("tierlimit_guard_hot_key_units", "Units that the hottest keys have asked for lately, by hash.", []string{"hash"}, nil)},
	)
}

// hottest is a collector of whichever keys are hot when it is asked.
type hottest struct {
	guard *floodguard.Guard
	desc  *prometheus.Desc
}

// Describe tells of the one metric.
func (h hottest) Describe(out chan<- *prometheus.Desc) { out <- h.desc }

// Collect reads the keys.
func (h hottest) Collect(out chan<- prometheus.Metric) {
	for _, k := range h.guard.Top(hotKeys) {
		out <- prometheus.MustNewConstMetric(h.desc, prometheus.GaugeValue, float64(k.Units), fmt.Sprintf("%08x", k.Hash))
	}
}
