package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestServerKillAndRestart(t *testing.T) {
	s := redistest.Start(t)
	addr, pid := s.Addr(), s.PID()
	client := s.Client(t)

	incr(t, client, 1)
	incr(t, client, 2)

	s.Kill()

	if _, err := net.DialTimeout("tcp", addr, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dial after Kill: %v, want refused", err)
	}

	if s.PID() != 0 {
		t.Fatalf("PID after Kill = %d, want 0", s.PID())
	}

	s.Kill() // again is allowed
	s.Restart()

	if s.Addr() != addr || s.PID() == pid || s.PID() == 0 {
		t.Fatalf("after Restart: %s pid %d; was %s pid %d", s.Addr(), s.PID(), addr, pid)
	}

	incr(t, client, 1) // empty again
}

func TestServerRestartIsEmptyAfterSave(t *testing.T) {
	s := redistest.Start(t)
	s.Do(t, "SET", "k", "v")
	s.Do(t, "SAVE")
	s.Restart()

	if got := s.Do(t, "GET", "k"); got != nil {
		t.Fatalf("GET after Restart = %v, want nil", got)
	}
}

func TestServerStopAndCont(t *testing.T) {
	s := redistest.Start(t)
	client := impatient(t, s.Addr(), patience)
	warm(t, client)

	s.Stop()
	dial(t, s.Addr()) // the kernel still accepts

	if err := client.Incr(context.Background(), "n").Err(); !isTimeout(err) {
		t.Fatalf("INCR on a stopped server: %v, want a timeout", err)
	}

	s.Cont()
	incr(t, s.Client(t), 2) // the one that timed out was executed as well
}

func TestServerURL(t *testing.T) {
	s := redistest.Start(t)

	opt, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}

	client := redis.NewClient(opt)
	defer client.Close()

	incr(t, client, 1)
}

func TestServerArgsAndDo(t *testing.T) {
	s := redistest.Start(t, "--maxmemory", "64mb", "--databases", "1")

	if got := fmt.Sprint(s.Do(t, "CONFIG", "GET", "maxmemory")); got != "[maxmemory 67108864]" {
		t.Fatalf("maxmemory: %s", got)
	}

	if got := fmt.Sprint(s.Do(t, "CONFIG", "GET", "repl-diskless-sync-delay")); got != "[repl-diskless-sync-delay 0]" {
		t.Fatalf("sync delay: %s", got)
	}

	s.Do(t, "DEBUG", "POPULATE", 10) // needs --enable-debug-command

	if got := s.Do(t, "DBSIZE"); got != int64(10) {
		t.Fatalf("DBSIZE = %v", got)
	}

	redistest.Start(t, "--requirepass", "secret") // counts as an answer too
}

func TestReserve(t *testing.T) {
	s := redistest.Reserve(t)

	if _, err := net.DialTimeout("tcp", s.Addr(), time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dial before Launch: %v, want refused", err)
	}

	client := s.Client(t)

	s.Launch()
	s.Launch() // again does nothing
	incr(t, client, 1)
}

func TestRestartWaitsForThePort(t *testing.T) {
	s := redistest.Reserve(t)

	thief, err := net.Listen("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}

	time.AfterFunc(500*time.Millisecond, func() { _ = thief.Close() })
	s.Restart()
	incr(t, s.Client(t), 1)
}

// recorder keeps what a failing helper would print.
type recorder struct {
	testing.TB
	said string
}

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure runs f where a Fatal of it does not end this test.
func failure(t *testing.T, f func(testing.TB)) string {
	t.Helper()

	r := &recorder{TB: t}

	var wg sync.WaitGroup

	wg.Go(func() { f(r) })
	wg.Wait()

	return r.said
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	said := failure(t, func(tb testing.TB) { redistest.Start(tb, "--no-such-option", "1") })
	if !strings.Contains(said, "no-such-option") {
		t.Errorf("a bad option: %q", said)
	}

	t.Setenv("PATH", t.TempDir())

	said = failure(t, func(tb testing.TB) { redistest.Start(tb) })
	if said != "redis-server not found in PATH: run `make test`, which installs it" {
		t.Errorf("no binary: %q", said)
	}
}
