package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const (
	startTries = 5
	answerWait = 10 * time.Second // a loaded CI machine; 20 ms otherwise
	portWait   = 5 * time.Second
)

var (
	errPortTaken  = errors.New("port is in use")
	errNotStarted = errors.New("did not start")
)

// Server is one redis-server with a port of its own for the whole test. The
// zero value is not usable: a Server comes from [Start] or [Reserve].
type Server struct {
	t    testing.TB
	port int
	dir  string
	args []string
	tls  *TLS // nil: neither TLS nor a password

	mu   sync.Mutex // held while the process changes, not while it runs
	proc *process
}

// Start returns a server that answers. Redis takes the last of two equal
// options, so args override the defaults: no persistence, DEBUG allowed, and no
// wait before the first sync of a replica (by default 5 s, during which killing
// the primary leaves nothing to promote).
func Start(t testing.TB, args ...string) *Server {
	t.Helper()

	return start(t, func() *Server { return reserve(t, nil, args...) })
}

// start reserves anew for each try, so that each has another port.
func start(t testing.TB, reserve func() *Server) *Server {
	t.Helper()

	for range startTries {
		s := reserve()

		err := s.launch()
		if err == nil {
			return s
		}

		if !errors.Is(err, errPortTaken) {
			t.Fatalf("redis-server %s: %v", s.Addr(), err)
		}
	}

	t.Fatalf("redis-server: %d ports in a row were taken meanwhile", startTries)

	return nil
}

// Reserve is for a client that starts before its Redis: nothing listens on the
// port, dials are refused, until [Server.Launch] or [Server.Restart].
func Reserve(t testing.TB, args ...string) *Server {
	t.Helper()

	return reserve(t, nil, args...)
}

func reserve(t testing.TB, secure *TLS, args ...string) *Server {
	t.Helper()
	requireBinary(t, "redis-server")

	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}

	s := &Server{t: t, port: port, dir: t.TempDir(), tls: secure}
	s.args = append([]string{
		"--port", fmt.Sprint(port),
		"--bind", "127.0.0.1",
		"--dir", s.dir,
		"--save", "",
		"--appendonly", "no",
		"--enable-debug-command", "local",
		"--repl-diskless-sync-delay", "0",
	}, append(secure.args(port), args...)...)

	// After TempDir, so that the process ends before its directory goes.
	t.Cleanup(s.Kill)

	return s
}

// launch must be called with mu held, or before s is shared.
func (s *Server) launch() error {
	// A replica writes this file at each full sync, and would load it again.
	if err := os.Remove(filepath.Join(s.dir, "dump.rdb")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	logFile := filepath.Join(s.dir, "redis.log")

	proc, err := spawn(logFile, "redis-server", s.args...)
	if err != nil {
		return err
	}

	err = eventually(answerWait, func() error {
		if !proc.alive() {
			return nil // no use to wait; told apart below
		}

		return s.answers(proc.pid())
	})

	if err == nil && proc.alive() {
		s.proc = proc

		return nil
	}

	proc.kill()

	log, _ := os.ReadFile(logFile) // only adds to the message
	if bytes.Contains(log, []byte("Address already in use")) {
		return errPortTaken
	}

	return fmt.Errorf("%w; its log ends with:\n%s", errors.Join(errNotStarted, err), log[max(0, len(log)-2000):])
}
