package policyfile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/policyfile"
)

// FuzzParse: no text panics; every error has a place inside the text; and what parses makes a
// limiter on any store that has what it asks for.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(listed))
	f.Add([]byte(all))
	for _, test := range goodLevels {
		f.Add([]byte(test.text))
	}
	for _, test := range allBad() {
		f.Add([]byte(test.text))
	}
	store := memstore.New()
	f.Cleanup(func() { store.Close() })

	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := policyfile.Parse("p.yaml", data)
		if err != nil {
			checkPlaces(t, data, err)
			return
		}
		if _, err := file.Limiter(everything); err != nil {
			t.Errorf("on a store that has everything: %v", err)
		}
		limiter, err := file.Limiter(store)
		if err != nil {
			checkPlaces(t, data, err)
			return
		}
		limiter.Check(t.Context(), request("POST /login"))
		if err := file.Update(limiter); err != nil {
			t.Errorf("update by the same file: %v", err)
		}
	})
}

func checkPlaces(t *testing.T, data []byte, err error) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v is not several errors", err)
	}
	lines := bytes.Split(data, []byte("\n"))
	for _, err := range joined.Unwrap() {
		var e *policyfile.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v has no place", err)
		}
		if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len(lines[e.Line-1])+1 {
			t.Errorf("%v: no such place", err)
		}
		if e.Problem == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: want one line that says something", err)
		}
	}
}
