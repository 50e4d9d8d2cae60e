//go:build unix

package redistest_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestNothingIsLeftRunning(t *testing.T) {
	var pids []int

	t.Run("use", func(t *testing.T) {
		one, two, stopped := redistest.Start(t), redistest.Start(t), redistest.Start(t)
		pids = []int{one.PID(), two.PID(), stopped.PID()}

		one.Do(t, "SET", "k", "one")

		if got := two.Do(t, "GET", "k"); got != nil {
			t.Fatalf("the second server sees the data of the first: %v", got)
		}

		stopped.Stop()
	})

	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("pid %d after the test: %v, want no such process", pid, err)
		}
	}
}
