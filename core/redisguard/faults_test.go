package redisguard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// journal is a log that may be read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// Whatever Redis does, no request waits: keys are checked, from a second after the last exchange on,
// until there has been another.
func TestFaultsMeanChecks(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		start, stop func(*redistest.Server, *redistest.Proxy)
	}{
		"killed":     {func(s *redistest.Server, _ *redistest.Proxy) { s.Kill() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Launch() }},
		"stopped":    {func(s *redistest.Server, _ *redistest.Proxy) { s.Stop() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Cont() }},
		"black hole": {func(_ *redistest.Server, p *redistest.Proxy) { p.SetMode(redistest.BlackHole) }, func(_ *redistest.Server, p *redistest.Proxy) { p.Heal() }},
		"no memory":  {func(s *redistest.Server, _ *redistest.Proxy) { s.Do(t, "CONFIG", "SET", "maxmemory", "1") }, func(s *redistest.Server, _ *redistest.Proxy) { s.Do(t, "CONFIG", "SET", "maxmemory", "0") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.StartProxy(t, server.Addr())
			var log journal
			g := open(t, connect(t, proxy.Addr(), redis.Options{}), WithThreshold(1_000_000), WithWindow(23*time.Hour), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			passes := func() bool {
				start := time.Now()
				v := verdict(g, "key", 1)
				if took := time.Since(start); took > callTimeout/2 {
					t.Errorf("a request took %v", took)
				}
				return v == core.PassKey
			}
			eventually(t, 5*time.Second, "passes", passes)
			fault.start(server, proxy)
			eventually(t, 5*time.Second, "is checked", func() bool { return !passes() })
			eventually(t, 5*time.Second, "told", func() bool { return g.Stats().LastError != nil })
			time.Sleep(300 * time.Millisecond)
			if passes() {
				t.Error("passes without Redis")
			}
			fault.stop(server, proxy)
			eventually(t, 10*time.Second, "passes again", passes)
			eventually(t, time.Second, "told", func() bool { return g.Stats().LastError == nil })
			if said := log.String(); strings.Count(said, "no answer") != 1 || strings.Count(said, "again") != 1 {
				t.Errorf("the log says\n%s", said)
			}
		})
	}
}

// A command that Redis refused is sent again, one whose reply was lost is not: it may have run. What
// is counted in Redis is never more than was asked for, and what the others count is learnt then too.
func TestLostRepliesCountOnce(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(1767225600, 0)}
	proxy := redistest.StartProxy(t, server.Addr())
	a, b := still(t, connect(t, proxy.Addr(), redis.Options{}), c.now, WithThreshold(10)), still(t, server.Client(t), c.now, WithThreshold(10))
	meet(t, a)
	b.Admit("key", 5)
	meet(t, b)
	a.Admit("key", 2)
	proxy.SetMode(redistest.SwallowReplies)
	if err := a.meet(t.Context()); err == nil {
		t.Fatal("the reply is not lost")
	}
	proxy.Heal()
	meet(t, a)
	b.Admit("key", 1)
	meet(t, b)
	for _, step := range []struct {
		g     *Guard
		units int64
		want  core.Verdict
	}{{a, 2, core.PassKey}, {a, 3, core.CheckKey}, {b, 1, core.PassKey}, {b, 2, core.CheckKey}} {
		if v, _ := step.g.Peek("key", step.units); v != step.want {
			t.Errorf("%d units more: verdict %d, want %d", step.units, v, step.want)
		}
	}
}

// forgetful is a client whose network fails after so many commands, once.
type forgetful struct {
	Client

	left int
}

func (f *forgetful) Process(ctx context.Context, cmd redis.Cmder) error {
	if f.left--; f.left == 0 {
		cmd.SetErr(io.ErrUnexpectedEOF)
		return io.ErrUnexpectedEOF
	}
	return f.Client.Process(ctx, cmd)
}

// Wherever an exchange breaks off, the next one brings what is left of it, and what has come since.
func TestExchangesThatBreakOff(t *testing.T) {
	t.Parallel()
	server, broken := redistest.Start(t), 0
	for left := range 8 {
		c := &clock{time.Unix(int64(1000*60*(left+1)), 0)}
		client := &forgetful{Client: server.Client(t)}
		opts := []Option{WithThreshold(10), WithWindow(time.Minute), WithClockSkew(0), WithName(fmt.Sprint("try", left))}
		a, b := still(t, client, c.now, opts...), still(t, server.Client(t), c.now, opts...)
		b.Admit("before", 9)
		meet(t, a, b)
		c.at = c.at.Add(time.Minute)
		meet(t, a, b)
		a.Admit("before", 1)
		client.left = left
		if err := a.meet(t.Context()); err != nil {
			broken++
		}
		client.left = 0
		a.Admit("since", 9)
		meet(t, a)
		if v, _ := a.Peek("before", 1); v != core.CheckKey {
			t.Errorf("broken off at command %d: verdict %d on what was counted in the slice before", left, v)
		}
		b.Admit("since", 1)
		meet(t, b)
		if v, _ := b.Peek("since", 1); v != core.CheckKey {
			t.Errorf("broken off at command %d: verdict %d on what came since", left, v)
		}
	}
	if broken < 2 {
		t.Errorf("%d exchanges broke off", broken)
	}
}

func TestRefusedCommandsAreSentAgain(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(1767225600, 0)}
	a, b := still(t, server.Client(t), c.now, WithThreshold(10)), still(t, server.Client(t), c.now, WithThreshold(10))
	meet(t, a)
	a.Admit("key", 8)
	server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	for range 3 {
		if err := a.meet(t.Context()); err == nil || !strings.Contains(fmt.Sprint(err), "OOM") {
			t.Fatalf("%v", err)
		}
	}
	server.Do(t, "CONFIG", "SET", "maxmemory", "0")
	meet(t, a)
	b.Admit("key", 1)
	meet(t, b)
	for units, want := range map[int64]core.Verdict{0: core.PassKey, 1: core.CheckKey} {
		if v, _ := b.Peek("key", units); v != want {
			t.Errorf("%d units more: verdict %d, want %d", units, v, want)
		}
	}
}
