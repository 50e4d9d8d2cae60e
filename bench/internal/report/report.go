// Package report turns raw results into the tables and charts of docs/benchmarks.md.
package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tierlimit/tierlimit/bench/internal/result"
)

// Document is the file in the docs directory that is filled, Images where charts go.
const (
	Document = "benchmarks.md"
	Images   = "img"
)

// output is what one part gives: tables by marker, charts by file name.
type output struct {
	tables map[string]string
	charts map[string][]byte
}

// renderers by part. A part has one file of raw results.
var renderers = map[string]func(*result.File) (output, error){
	"store":     store,
	"roundtrip": roundTrip,
	"inprocess": inProcess,
	"memory":    memory,
	"headers":   headers,
	"http":      whole,
	"levels":    levels,
	"keys":      keys,
	"replicas":  replicas,
	"nodes":     nodes,
}

// Write fills the document and writes the charts in docs from the raw results. A part without
// results leaves its place as it was.
func Write(results, docs string) error {
	all := output{tables: map[string]string{}, charts: map[string][]byte{}}
	for part, render := range renderers {
		f, err := result.Read(results, part)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		o, err := render(f)
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		for marker, table := range o.tables {
			all.tables[marker] = measuredOn(f) + "\n\n" + table
		}
		maps.Copy(all.charts, o.charts)
	}
	return all.write(docs)
}

// Print writes the tables of one part, for a look at some of it.
func Print(w io.Writer, f *result.File) error {
	o, err := renderers[f.Part](f)
	if err != nil {
		return err
	}
	for _, marker := range slices.Sorted(maps.Keys(o.tables)) {
		fmt.Fprintf(w, "\n%s\n", o.tables[marker])
	}
	return nil
}

// measuredOn goes above each table, since parts may have been measured apart.
func measuredOn(f *result.File) string {
	return fmt.Sprintf("*Measured on %s; medians of %d rounds of %s.*", f.Machine, f.Settings.Rounds, f.Settings.Time)
}

func (o output) write(docs string) error {
	path := filepath.Join(docs, Document)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := Fill(string(text), o.tables)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(filled), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(docs, Images), 0o755); err != nil {
		return err
	}
	for name, svg := range o.charts {
		if err := os.WriteFile(filepath.Join(docs, Images, name), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}
