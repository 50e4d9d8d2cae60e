package prommetrics_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tierlimit/tierlimit/core/floodguard"
	"github.com/tierlimit/tierlimit/core/prommetrics"
)

func TestAGuardIsShown(t *testing.T) {
	g, err := floodguard.New(floodguard.WithThreshold(5), floodguard.WithRefuseAbove(20), floodguard.WithError(0.01, 0.1), floodguard.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	if err := prommetrics.Guard(reg, g); err != nil {
		t.Fatal(err)
	}
	for range 25 {
		g.Admit("hot", 1)
	}
	hash := fmt.Sprintf("%08x", g.Top(1)[0].Hash)
	want := `
# HELP tierlimit_guard_error_units Units by which an estimate may be too high.
# TYPE tierlimit_guard_error_units gauge
tierlimit_guard_error_units 1
# HELP tierlimit_guard_hot_key_units Units that the hottest keys have asked for lately, by hash.
# TYPE tierlimit_guard_hot_key_units gauge
tierlimit_guard_hot_key_units{hash="` + hash + `"} 25
# HELP tierlimit_guard_requests_total Requests at a guarded level, by what the guard said of them.
# TYPE tierlimit_guard_requests_total counter
tierlimit_guard_requests_total{verdict="checked"} 16
tierlimit_guard_requests_total{verdict="passed"} 4
tierlimit_guard_requests_total{verdict="refused"} 5
# HELP tierlimit_guard_too_small 1 while that is at least the guard's threshold.
# TYPE tierlimit_guard_too_small gauge
tierlimit_guard_too_small 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tierlimit_guard_error_units", "tierlimit_guard_hot_key_units", "tierlimit_guard_requests_total", "tierlimit_guard_too_small"); err != nil {
		t.Error(err)
	}
	for i := range 100_000 {
		g.Admit(fmt.Sprint(i), 1)
	}
	want = `
# HELP tierlimit_guard_too_small 1 while that is at least the guard's threshold.
# TYPE tierlimit_guard_too_small gauge
tierlimit_guard_too_small 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tierlimit_guard_too_small"); err != nil {
		t.Error(err)
	}
	if err := prommetrics.Guard(reg, g); err == nil {
		t.Error("registering twice gave no error")
	}
}
