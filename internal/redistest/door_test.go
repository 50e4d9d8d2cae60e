package redistest_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestProxyRefuseAndCloseAll(t *testing.T) {
	_, p := proxied(t)

	for _, fault := range []func(){p.CloseAll, func() { p.SetMode(redistest.Refuse) }} {
		raw := dial(t, p.Addr())
		ping(t, raw)
		fault()

		if _, err := io.ReadAll(raw); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("open connection: %v, want a reset", err)
		}
	}

	if _, err := net.DialTimeout("tcp", p.Addr(), time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dial: %v, want refused", err)
	}

	p.SetMode(redistest.Pass)
	ping(t, dial(t, p.Addr()))
}

func TestProxySynHole(t *testing.T) {
	_, p := proxied(t)
	before := dial(t, p.Addr())
	ping(t, before)

	for range 2 { // also over an existing hole
		p.SynHole()

		if _, err := net.DialTimeout("tcp", p.Addr(), 300*time.Millisecond); !isTimeout(err) {
			t.Fatalf("dial: %v, want a timeout", err)
		}
	}

	p.SetMode(redistest.Pass) // touches only connections
	ping(t, before)

	if _, err := net.DialTimeout("tcp", p.Addr(), 300*time.Millisecond); !isTimeout(err) {
		t.Fatalf("dial: %v, want a timeout", err)
	}

	p.Heal()
	ping(t, before)
	ping(t, dial(t, p.Addr()))
}

func TestProxyTargetComesAndGoes(t *testing.T) {
	s := redistest.Reserve(t)
	p := redistest.StartProxy(t, s.Addr())

	// The reset may already be there when the dial returns.
	conn, err := net.DialTimeout("tcp", p.Addr(), time.Second)
	if err == nil {
		_, err = io.ReadAll(conn)
		_ = conn.Close()
	}

	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("target is down: %v, want a reset", err)
	}

	s.Launch()

	raw := dial(t, p.Addr())
	ping(t, raw)
	s.Kill()

	if _, err := io.ReadAll(raw); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("target was killed: %v, want an end", err)
	}
}
