package result_test

import (
	"testing"

	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/result"
)

func TestMedianOfRounds(t *testing.T) {
	f := &result.File{Part: "p"}
	for round, v := range []float64{9, 1, 3} {
		f.Rows = append(f.Rows, result.Row{Scenario: "s", Engine: "e", Round: round, Metrics: load.Metrics{"m": v}})
	}
	// In the first round the machine was three times as fast for both.
	for round, v := range []float64{18, 4, 6} {
		f.Rows = append(f.Rows, result.Row{Scenario: "s", Engine: "other", Round: round, Metrics: load.Metrics{"m": v}})
	}
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	back, err := result.Read(dir, "p")
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := back.Median("s", "e", "m"); !ok || m != 3 {
		t.Errorf("median %v, %v, want 3", m, ok)
	}
	if r, ok := back.Ratio("s", "other", "e", "m"); !ok || r != 2 {
		t.Errorf("ratio %v, %v, want 2, 4 and 2 to be 2", r, ok)
	}
	if _, ok := back.Ratio("s", "other", "none", "m"); ok {
		t.Error("a ratio to what was not measured")
	}
	if _, ok := back.Median("s", "e", "another"); ok {
		t.Error("a median of what was not measured")
	}
	back.Rows = append(back.Rows, result.Row{Scenario: "s", Engine: "e", Round: 3, Metrics: load.Metrics{"m": 4}})
	if m, _ := back.Median("s", "e", "m"); m != 3.5 {
		t.Errorf("median of four is %v, want 3.5", m)
	}
}
