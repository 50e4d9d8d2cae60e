package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/report"
	"github.com/tierlimit/tierlimit/bench/internal/result"
)

const document = "../../../docs/benchmarks.md"

func TestFill(t *testing.T) {
	const doc = "a\n<!-- table: x -->\nold\n<!-- end -->\nb\n<!-- table: y -->\n<!-- end -->\n"
	got, err := report.Fill(doc, map[string]string{"x": "| new |\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(doc, "\nold\n", "\n\n| new |\n\n", 1)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again, err := report.Fill(got, map[string]string{"x": "| new |"})
	if err != nil || again != got {
		t.Errorf("filled again: %v\n%s", err, again)
	}
	for name, broken := range map[string]string{
		"no place":      "a",
		"no end":        "<!-- table: x -->",
		"another's end": "<!-- table: x -->\n<!-- table: y -->\n<!-- end -->",
	} {
		if _, err := report.Fill(broken, map[string]string{"x": ""}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The document that is committed has a place for every table, and every chart that it shows is
// written.
func TestDocumentHasAPlaceForEverything(t *testing.T) {
	results, docs := t.TempDir(), t.TempDir()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(docs, report.Document), string(text))
	busy := load.Scenario{Levels: 3, Goroutines: 128, Keys: load.Uniform, Traffic: load.Busy}.Name()
	for part, scenarios := range map[string][]string{
		"store": {busy}, "roundtrip": {busy}, "inprocess": {"levels=3/keys=zipf/parallel"},
		"memory": {"levels=1/keys=1000000"}, "headers": {"levels=3/no store"}, "http": {"connections=64"},
		"levels":   {"levels=1", "levels=2", "limits=1", "limits=2"},
		"keys":     {"redis/keys=1000", "redis/keys=2000", "in process/keys=1000", "in process/keys=2000"},
		"replicas": {"replicas=1", "replicas=4"},
		"nodes":    {"nodes=1", "nodes=3"},
	} {
		f := result.File{Part: part}
		for _, s := range scenarios {
			f.Rows = append(f.Rows, row(s, engine.Tierlimit, 3), row(s, engine.TierlimitInner, 3), row(s, engine.RedisRate, 2))
		}
		if err := f.Write(results); err != nil {
			t.Fatal(err)
		}
	}
	if err := report.Write(results, docs); err != nil {
		t.Fatal(err)
	}
	filled := read(t, filepath.Join(docs, report.Document))
	if empty := regexp.MustCompile(`<!-- table: \S+ -->\s*<!-- end -->`).FindAllString(filled, -1); empty != nil {
		t.Errorf("still empty: %q", empty)
	}
	if !strings.Contains(filled, "| **"+engine.Tierlimit+"** | 3.00 (1.50x) |") {
		t.Errorf("no ratio to the base in\n%s", filled)
	}
	for _, image := range regexp.MustCompile(`\((img/\S+\.svg)\)`).FindAllStringSubmatch(filled, -1) {
		wellFormed(t, filepath.Join(docs, image[1]))
	}
}

func row(scenario, name string, value float64) result.Row {
	return result.Row{Scenario: scenario, Engine: name, Metrics: load.Metrics{
		load.PerSecond: value, load.P50: value, load.P99: value, load.RedisCPU: value, load.NsPerOp: value, load.BytesPerKey: value,
	}}
}

func wellFormed(t *testing.T, path string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(read(t, path)))
	for {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatalf("%s: %v", path, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
