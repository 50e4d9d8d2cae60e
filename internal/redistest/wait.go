package redistest

import (
	"testing"
	"time"
)

// pollEvery is short because most waits end within one server start (20 ms).
const pollEvery = 10 * time.Millisecond

// eventually returns the last error of cond, so that a failed wait says what
// was still missing.
func eventually(within time.Duration, cond func() error) error {
	deadline := time.Now().Add(within)

	for {
		err := cond()
		if err == nil || time.Now().After(deadline) {
			return err
		}

		time.Sleep(pollEvery)
	}
}

func mustEventually(t testing.TB, within time.Duration, what string, cond func() error) {
	t.Helper()

	if err := eventually(within, cond); err != nil {
		t.Fatalf("%s: not within %v: %v", what, within, err)
	}
}
