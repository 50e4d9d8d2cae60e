// Package result keeps what was measured: every round, as it was.
package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tierlimit/tierlimit/bench/internal/load"
)

// File is the results of one part.
type File struct {
	Part     string   `json:"part"`
	Machine  Machine  `json:"machine"`
	Settings Settings `json:"settings"`
	Rows     []Row    `json:"rows"`
}

// Settings are what the figures depend on beside the machine.
type Settings struct {
	Time   string `json:"time"` // of one run
	Rounds int    `json:"rounds"`
	Pool   int    `json:"pool"`
}

// Row is one run.
type Row struct {
	Scenario string       `json:"scenario"`
	Engine   string       `json:"engine"`
	Round    int          `json:"round"`
	Metrics  load.Metrics `json:"metrics"`
	Error    string       `json:"error,omitempty"` // one of them
}

func path(dir, part string) string { return filepath.Join(dir, part+".json") }

// Write replaces the part's file in dir.
func (f *File) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path(dir, f.Part), append(text, '\n'), 0o644)
}

// Read reads the part's file in dir.
func Read(dir, part string) (*File, error) {
	text, err := os.ReadFile(path(dir, part))
	if err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path(dir, part), err)
	}
	return f, nil
}

// Scenarios are in the order in which they were measured.
func (f *File) Scenarios() []string {
	return unique(f.Rows, func(r Row) string { return r.Scenario })
}

// Engines of a scenario, in the order in which they were measured.
func (f *File) Engines(scenario string) []string {
	return unique(f.Rows, func(r Row) string {
		if r.Scenario != scenario {
			return ""
		}
		return r.Engine
	})
}

func unique(rows []Row, of func(Row) string) []string {
	var names []string
	for _, r := range rows {
		if name := of(r); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Median of a metric over the rounds; ok is false where it was not measured.
func (f *File) Median(scenario, engine, metric string) (m float64, ok bool) {
	return median(slices.Collect(maps.Values(f.rounds(scenario, engine, metric))))
}

// Ratio is the median of each round's ratio to base. Both were measured shortly after each other
// in each round, so what slowed the machine for a while hardly moves it.
func (f *File) Ratio(scenario, engine, base, metric string) (m float64, ok bool) {
	of := f.rounds(scenario, base, metric)
	var ratios []float64
	for round, v := range f.rounds(scenario, engine, metric) {
		if of[round] > 0 {
			ratios = append(ratios, v/of[round])
		}
	}
	return median(ratios)
}

func (f *File) rounds(scenario, engine, metric string) map[int]float64 {
	values := map[int]float64{}
	for _, r := range f.Rows {
		if v, has := r.Metrics[metric]; has && r.Scenario == scenario && r.Engine == engine {
			values[r.Round] = v
		}
	}
	return values
}

func median(values []float64) (m float64, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 0 {
		return (values[half-1] + values[half]) / 2, true
	}
	return values[half], true
}
