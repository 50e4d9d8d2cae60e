package part

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// host is a testing.TB outside a test, as much of one as redistest needs: the servers and the
// proxy of the tests are then those of the measurements too.
type host struct {
	testing.TB
	cleanups []func()
	failed   error
}

func (*host) Helper() {}

func (h *host) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

func (h *host) Errorf(format string, args ...any) {
	h.failed = errors.Join(h.failed, fmt.Errorf(format, args...))
}

func (h *host) Fatal(args ...any) {
	h.failed = errors.Join(h.failed, errors.New(fmt.Sprint(args...)))
	runtime.Goexit()
}

func (h *host) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	runtime.Goexit()
}

func (h *host) TempDir() string {
	dir, err := os.MkdirTemp("", "tierlimit-bench-")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover in the temporary directory harms nobody
	return dir
}

// run calls f where Fatal does not end the program.
func (h *host) run(f func() error) error {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = f()
	}()
	<-done
	return errors.Join(err, h.failed)
}

func (h *host) close() {
	for len(h.cleanups) > 0 {
		last := h.cleanups[len(h.cleanups)-1]
		h.cleanups = h.cleanups[:len(h.cleanups)-1]
		last()
	}
}

func startRedis(h *host) string { return redistest.Start(h, "--maxclients", "20000").Addr() }
