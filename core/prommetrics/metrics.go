// Package prommetrics shows a limiter and its store as Prometheus metrics. No label holds
// anything that a client sends.
package prommetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tierlimit/tierlimit/core"
)

// Metrics counts decisions. Its Observe is for core.WithObserver.
type Metrics struct {
	requests *prometheus.CounterVec
	shadow   *prometheus.CounterVec
}

// New registers the counters of decisions. It returns an error if reg has them already: for
// several limiters give each its own labels with prometheus.WrapRegistererWith.
func New(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tierlimit_requests_total",
			Help: "Requests decided, by the level that denied (empty if none), why, and where the answer came from.",
		}, []string{"level", "reason", "source"}),
		shadow: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tierlimit_shadow_denials_total",
			Help: "Requests that a shadow level would have denied.",
		}, []string{"level"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.shadow} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Observe counts one decision.
func (m *Metrics) Observe(d core.Decision) {
	level := ""
	if !d.Allowed {
		level = d.Level
	}
	m.requests.WithLabelValues(level, d.Reason.String(), d.Source.String()).Inc()
	for _, l := range d.Levels() {
		if l.Shadow && l.Denied {
			m.shadow.WithLabelValues(l.Level).Inc()
		}
	}
}

// Limiter registers what a limiter counts beside its decisions.
func Limiter(reg prometheus.Registerer, l *core.Limiter) error {
	return register(
		reg,
		counter("tierlimit_no_address_total", "Requests that an IP level could not count: no client address.", nil,
			func() uint64 { return l.Stats().NoAddress }),
		counter("tierlimit_invalid_limits_total", "Results of LimitsFor that were refused.", nil,
			func() uint64 { return l.Stats().InvalidLimits }),
	)
}

// Fallback registers the state of a store that can lose its shared part, as fallback.Store can.
func Fallback(reg prometheus.Registerer, s interface{ Health() core.Health }) error {
	failures := func(fault string, of func(core.FailureCounts) uint64) prometheus.Collector {
		return counter("tierlimit_store_failures_total", "Requests that the shared store did not answer, by whose fault it was.",
			prometheus.Labels{"fault": fault}, func() uint64 { return of(s.Health().Failures) })
	}
	return register(
		reg,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tierlimit_degraded", Help: "1 while some node of the shared store is failing and decisions are local.",
		}, func() float64 {
			if s.Health().Degraded {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tierlimit_share", Help: "This replica's part of each limit while decisions are local.",
		}, func() float64 { return s.Health().Share }),
		counter("tierlimit_settled_buckets_total", "Buckets charged in the shared store for what was admitted without it.", nil,
			func() uint64 { return s.Health().Settled }),
		counter("tierlimit_unsettled_buckets_total", "Buckets that could not be charged for that.", nil,
			func() uint64 { return s.Health().Unsettled }),
		counter("tierlimit_local_decisions_total", "Requests with a level decided locally.", nil,
			func() uint64 { return s.Health().LocalDecisions }),
		failures("store", func(f core.FailureCounts) uint64 { return f.Store }),
		failures("config", func(f core.FailureCounts) uint64 { return f.Config }),
		failures("request", func(f core.FailureCounts) uint64 { return f.Request }),
		failures("caller", func(f core.FailureCounts) uint64 { return f.Caller }),
	)
}

func counter(name, help string, labels prometheus.Labels, read func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
		func() float64 { return float64(read()) })
}

func register(reg prometheus.Registerer, collectors ...prometheus.Collector) error {
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	return nil
}
