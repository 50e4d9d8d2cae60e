package adaptertest

import (
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/storetest"
)

// harness is what one case works with: an empty store whose clock stands still, and a handler
// that counts.
type harness struct {
	adapter Adapter
	clock   *storetest.Clock
	store   *memstore.Store
	calls   atomic.Int64 // of ok
}

func newHarness(t *testing.T, a Adapter) *harness {
	h := &harness{adapter: a, clock: new(storetest.Clock)}
	h.store = h.anotherStore(t)
	return h
}

func (h *harness) anotherStore(t *testing.T) *memstore.Store {
	s := memstore.New(memstore.WithClock(h.clock.Now))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// needs skips the case where the framework lacks what it is about.
func (h *harness) needs(t *testing.T, f Feature) {
	t.Helper()
	if reason, lacks := h.adapter.Lacks[f]; lacks {
		t.Skipf("%s lacks %q: %s", h.adapter.Name, f, reason)
	}
}

// limiter is one over the case's store.
func (h *harness) limiter(t *testing.T, p core.Policy, opts ...core.Option) *core.Limiter {
	t.Helper()
	return limiterOver(t, h.store, p, opts...)
}

func limiterOver(t *testing.T, s core.Store, p core.Policy, opts ...core.Option) *core.Limiter {
	t.Helper()
	l, err := core.New(s, p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ok is the handler of most routes.
func (h *harness) ok(c Call) error {
	h.calls.Add(1)
	return c.Reply(http.StatusOK, textType, "ok")
}

const textType = "text/plain; charset=utf-8"

// simple is a service behind one limiter mounted app-wide, with the routes that most cases need.
func (h *harness) simple(l *core.Limiter, opts ...Option) Service {
	return Service{Mounts: []Mount{{l, opts}}, Routes: h.routes()}
}

func (h *harness) routes() []Route {
	return []Route{
		{Method: "GET", Path: "/x", Handler: h.ok},
		{Method: "POST", Path: "/x", Handler: h.ok},
		{Method: "GET", Path: "/y", Handler: h.ok},
		{Method: "GET", Path: "/items/:id", Handler: h.ok},
		{Method: "GET", Path: "/files/*path", Handler: h.ok},
	}
}

// serve starts the service and returns a client of it, with the loopback address.
func (h *harness) serve(t *testing.T, s Service) *client {
	t.Helper()
	server, l := h.adapter.Build(s), newLobby(t)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		_ = l.Close()
		// How a closed server ends is the framework's affair; that it ends is ours.
		if err := <-done; err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Logf("Serve: %v", err)
		}
	})
	return newClient(t, l, l.Addr())
}

// from is another client of the same service, whose connections come from peer as far as the
// server can tell.
func (c *client) from(t *testing.T, peer string) *client {
	t.Helper()
	return newClient(t, c.lobby, c.lobby.open(t, "tcp", "127.0.0.1:0", &peer))
}

// overUnix is another client of the same service, on a unix socket.
func (c *client) overUnix(t *testing.T) *client {
	t.Helper()
	return newClient(t, c.lobby, c.lobby.open(t, "unix", socketPath(t), nil))
}

// equal reports what is not as it should be.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
