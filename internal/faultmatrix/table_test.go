package faultmatrix_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	tableBegin = "<!-- fault matrix: made by `make matrix` -->\n"
	tableEnd   = "<!-- fault matrix ends -->\n"
)

// table gathers results. It is safe for concurrent use.
type table struct {
	mu    sync.Mutex
	cells map[string]result
}

func (f *table) add(c cell, r result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cells == nil {
		f.cells = map[string]result{}
	}
	f.cells[c.String()] = r
}

// write puts the table between its marks on a page.
func (f *table) write(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s lacks the marks %q and %q", file, tableBegin, tableEnd)
	}
	if err := os.WriteFile(file, []byte(before+tableBegin+f.markdown()+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f *table) markdown() string {
	var b bytes.Buffer
	for _, at := range []topology{single, sentinel, cluster} {
		fmt.Fprintf(&b, "\n| %s |", at)
		for _, s := range setups {
			fmt.Fprintf(&b, " %s |", s.name)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(setups)) + "\n")
		var all result
		took := make([][]time.Duration, len(setups))
		for _, fault := range faults {
			fmt.Fprintf(&b, "| %s |", fault.name)
			for i, s := range setups {
				r, ok := f.cells[cell{fault, at, s}.String()]
				if !ok {
					b.WriteString(" - |")
					continue
				}
				fmt.Fprintf(&b, " %s |", r)
				all.add(r)
				took[i] = append(took[i], r.took...)
			}
			b.WriteString("\n")
		}
		b.WriteString("| p99.9 of all |")
		for _, d := range took {
			fmt.Fprintf(&b, " %s |", ms(quantile(d, 0.999)))
		}
		fmt.Fprintf(&b, "\n\n%d requests: %d answered with 5xx, %d with 429.", all.requests, all.failed, all.denied)
		if at == cluster {
			fmt.Fprintf(&b, " At the healthy primaries %d were decided locally.", all.others)
		}
		fmt.Fprintf(&b, " The longest stall of the machine was %s ms, the slowest decision with stalls %s ms.\n", ms(all.stall), ms(all.raw))
	}
	b.WriteString("\n")
	return b.String()
}

// String is a cell of the table. A promise that was not kept is in bold.
func (r result) String() string {
	s := fmt.Sprintf("%s / %d / %s", ms(r.slowest), r.waited, ms(r.back))
	if len(r.broken)+len(r.late) > 0 {
		s = "**" + s + "**"
	}
	return s
}

func (r *result) add(o result) {
	r.requests, r.failed, r.denied, r.others = r.requests+o.requests, r.failed+o.failed, r.denied+o.denied, r.others+o.others
	r.stall, r.raw = max(r.stall, o.stall), max(r.raw, o.raw)
}

func ms(d time.Duration) string { return fmt.Sprint(d.Round(time.Millisecond).Milliseconds()) }

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(q*float64(len(d))))]
}
