package faultmatrix_test

import (
	"testing"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// stopped ends before any replica would be promoted.
var stopped = fault{name: "stopped (SIGSTOP)", begin: func(s site) func() { s.server.Stop(); return s.server.Cont }}

// A dial over TLS reaches a Redis that is stopped, and hangs in the handshake: all is held as without.
func TestTLS(t *testing.T) {
	for _, at := range []topology{single, sentinel, cluster} {
		t.Run(string(at), func(t *testing.T) {
			g := overTLS(t, at)
			for _, s := range setups[:2] {
				t.Run(s.name, func(t *testing.T) { cell{stopped, at, s}.hold(t, g) })
			}
		})
	}
}

// overTLS is a group that clients reach without a proxy.
func overTLS(t *testing.T, at topology) *group {
	g := &group{topology: at}
	c := redistest.NewTLS(t)
	switch at {
	case single:
		g.servers = []*redistest.Server{c.Start()}
	case sentinel:
		g.sentinel = c.StartSentinel()
		g.servers, g.addrs = []*redistest.Server{g.sentinel.Master(), g.sentinel.Replica()}, g.sentinel.Addrs()
	case cluster:
		g.servers = c.StartPrimaries(3).Nodes()
	}
	for _, s := range g.servers {
		if at != sentinel {
			g.addrs = append(g.addrs, s.Addr())
		}
	}
	g.secured = g.servers[0].Options()
	return g.patient(t)
}
