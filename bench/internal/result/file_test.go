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
	f.Rows = append(f.Rows, result.Row{Scenario: "s", Engine: "other", Metrics: load.Metrics{"m": 100}})
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
	if _, ok := back.Median("s", "e", "another"); ok {
		t.Error("a median of what was not measured")
	}
	back.Rows = append(back.Rows, result.Row{Scenario: "s", Engine: "e", Metrics: load.Metrics{"m": 4}})
	if m, _ := back.Median("s", "e", "m"); m != 3.5 {
		t.Errorf("median of four is %v, want 3.5", m)
	}
}
