package adaptertest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// lobby is one listener with several doors, so that a server can be called from peers of the
// test's choosing, which a loopback connection cannot be, and over more than one network.
type lobby struct {
	conns chan net.Conn
	done  chan struct{}
	busy  sync.WaitGroup

	mu    sync.Mutex
	shut  bool
	doors []net.Listener
}

func newLobby(t *testing.T) *lobby {
	l := &lobby{conns: make(chan net.Conn), done: make(chan struct{})}
	l.open(t, "tcp", "127.0.0.1:0", nil)
	return l
}

// open makes a door and returns its address. Connections that come in by it have the peer's
// remote address, or their own where peer is nil.
func (l *lobby) open(t *testing.T, network, address string, peer *string) net.Addr {
	t.Helper()
	door, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doors = append(l.doors, door)
	l.busy.Go(func() {
		for {
			conn, err := door.Accept()
			if err != nil {
				return
			}
			if peer != nil {
				conn = stranger{conn, remote(*peer)}
			}
			select {
			case l.conns <- conn:
			case <-l.done:
				_ = conn.Close()
				return
			}
		}
	})
	return door.Addr()
}

// Accept is the server's.
func (l *lobby) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Addr is that of the first door.
func (l *lobby) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doors[0].Addr()
}

// Close shuts all doors, once, whether the server or the test asks first.
func (l *lobby) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return nil
	}
	l.shut = true
	close(l.done)
	for _, door := range l.doors {
		_ = door.Close()
	}
	l.busy.Wait()
	return nil
}

// stranger is a connection that says it comes from elsewhere.
type stranger struct {
	net.Conn
	peer net.Addr
}

func (s stranger) RemoteAddr() net.Addr { return s.peer }

// remote is an address of any form, also none that a kernel would give.
type remote string

func (remote) Network() string  { return "tcp" }
func (r remote) String() string { return string(r) }

// socketPath is a path for a unix socket.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // t.TempDir is named after the case, and the kernel takes 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}
