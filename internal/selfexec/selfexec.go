// Package selfexec lets a test be several processes: its own binary, started again with an order in the environment.
package selfexec

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Start starts a process for each order, which finds it as JSON in the environment variable env and writes its report
// to standard output, as JSON. The function that it returns waits for the reports, in the order of the orders. The
// processes end with the test.
func Start[Report, Order any](t *testing.T, env string, orders []Order) func(*testing.T) []Report {
	t.Helper()
	reports, failed := make([]Report, len(orders)), make([]error, len(orders))
	var wg sync.WaitGroup
	for i := range orders {
		given, err := json.Marshal(orders[i])
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), env+"="+string(given))
		cmd.Stderr = os.Stderr
		wg.Go(func() {
			said, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(said, &reports[i])
			}
			if err != nil {
				failed[i] = fmt.Errorf("process %d: %w: %s", i, err, said)
			}
		})
	}
	return func(t *testing.T) []Report {
		t.Helper()
		wg.Wait()
		for _, err := range failed {
			if err != nil {
				t.Fatal(err)
			}
		}
		return reports
	}
}
