package load

import (
	"fmt"
	"strings"
)

// The names of what is measured, as they stand in the raw results.
const (
	PerSecond   = "decisions_per_s"
	P50         = "p50_us"
	P99         = "p99_us"
	RedisCPU    = "redis_cpu_us"
	RedisMain   = "redis_main_thread_us"
	RedisCalls  = "redis_commands"
	RoundTrips  = "redis_reads"
	BytesIn     = "redis_bytes_in"
	BytesOut    = "redis_bytes_out"
	Allocs      = "allocs"
	AllocBytes  = "alloc_bytes"
	DeniedPart  = "denied_share"
	ErrorPart   = "error_share"
	NsPerOp     = "ns_per_op"
	BytesPerKey = "bytes_per_key"
)

// Metrics are figures by name; where the name says no other unit, by decision.
type Metrics map[string]float64

// Made is how many decisions there were. A call that ended in an error is none, and counts only
// as such.
func (c Count) Made() int64 { return c.Decisions - c.Errors }

// Metrics of one process.
func (c Count) Metrics() Metrics {
	n := float64(max(c.Made(), 1))
	return Metrics{
		PerSecond:  float64(c.Made()) / c.Elapsed.Seconds(),
		P50:        float64(c.Latency.ValueAtPercentile(50)) / 1e3,
		P99:        float64(c.Latency.ValueAtPercentile(99)) / 1e3,
		Allocs:     float64(c.Allocs) / n,
		AllocBytes: float64(c.Bytes) / n,
		DeniedPart: float64(c.Denied) / n,
		ErrorPart:  float64(c.Errors) / float64(max(c.Decisions, 1)),
	}
}

// AddServer adds what a server did meanwhile for n decisions.
func (m Metrics) AddServer(before, after Usage, n int64) {
	each := func(name string, from, to, scale float64) { m[name] = (to - from) * scale / float64(max(n, 1)) }
	each(RedisCPU, before.CPU, after.CPU, 1e6)
	each(RedisMain, before.MainCPU, after.MainCPU, 1e6)
	each(RedisCalls, before.Commands, after.Commands, 1)
	each(RoundTrips, before.Reads, after.Reads, 1)
	each(BytesIn, before.In, after.In, 1)
	each(BytesOut, before.Out, after.Out, 1)
}

// String is the line that shows while measuring.
func (m Metrics) String() string {
	var parts []string
	for _, name := range []string{PerSecond, P99, RedisCPU, RoundTrips, Allocs, DeniedPart, ErrorPart, NsPerOp, BytesPerKey} {
		if v, ok := m[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %.4g", name, v))
		}
	}
	return strings.Join(parts, ", ")
}
