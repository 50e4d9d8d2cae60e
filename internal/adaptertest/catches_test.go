package adaptertest_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// faultVariable tells the test binary, run by itself, which fault to commit.
const faultVariable = "ADAPTERTEST_FAULT"

// leak is caught by no case but behind them all.
const leak = "the check for goroutines"

// TestSuiteCatchesFaults runs the suite over adapters that are wrong, each in one way, and wants
// the case that is about it to go red.
func TestSuiteCatchesFaults(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pattern, red := "^TestReference$/^cost$", "found unexpected goroutines"
			if f.caught != leak {
				subject, sentence, _ := strings.Cut(strings.ReplaceAll(f.caught, " ", "_"), "/")
				pattern = "^TestReference$/^" + subject + "$/^" + regexp.QuoteMeta(sentence) + "$"
				red = "--- FAIL: TestReference/" + subject + "/" + sentence
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", pattern, "-test.timeout", "1m")
			cmd.Env = append(os.Environ(), faultVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), red) {
				t.Errorf("%v, want %q; the output ends with\n%s", err, red, out[max(0, len(out)-2000):])
			}
		})
	}
}
