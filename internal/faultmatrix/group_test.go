package faultmatrix_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

type topology string

const (
	single   topology = "One server"
	sentinel topology = "Sentinel"
	cluster  topology = "Cluster"
)

// group is a Redis of one topology. Between the service and each of its servers there is a proxy, so
// that the network can fail for the service alone.
type group struct {
	topology topology
	addrs    []string // what a client is configured with
	servers  []*redistest.Server
	proxies  map[string]*redistest.Proxy // by the address of the server
	sentinel *redistest.Sentinel
	secured  *redis.Options // how clients get in; nil: any client does
}

func start(t *testing.T, at topology) *group {
	g := &group{topology: at, proxies: map[string]*redistest.Proxy{}}
	switch at {
	case single:
		s := redistest.Start(t)
		g.servers, g.addrs = []*redistest.Server{s}, []string{s.Addr()}
	case sentinel:
		g.sentinel = redistest.StartSentinel(t)
		g.servers, g.addrs = []*redistest.Server{g.sentinel.Master(), g.sentinel.Replica()}, g.sentinel.Addrs()
	case cluster:
		c := redistest.StartCluster(t)
		g.servers, g.addrs = c.Nodes(), c.Addrs()
		for _, n := range g.servers {
			n.Do(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
		}
	}
	for _, s := range g.servers {
		g.proxies[s.Addr()] = redistest.StartProxy(t, s.Addr())
	}
	return g
}

// staying is a group whose sentinels call a server down after 30 s, their default. After the 1 s of
// redistest they would promote a replica of one that is busy, paused or cannot save, and end the fault.
func staying(t *testing.T, at topology) *group {
	return start(t, at).patient(t)
}

func (g *group) patient(t *testing.T) *group {
	if g.topology == sentinel {
		for _, s := range g.sentinel.Sentinels() {
			s.Do(t, "SENTINEL", "SET", g.sentinel.MasterName(), "down-after-milliseconds", 30_000)
		}
	}
	return g
}

// dialer is go-redis' own, but that it goes through the proxies.
func (g *group) dialer(timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	dial := redis.NewDialer(&redis.Options{DialTimeout: cmp.Or(timeout, 5*time.Second)})
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		p, ok := g.proxies[addr]
		if !ok {
			return dial(ctx, network, addr)
		}
		c, err := dial(ctx, network, p.Addr())
		if err != nil {
			return nil, err
		}
		remote, err := net.ResolveTCPAddr(network, addr)
		return conn{c.(*net.TCPConn), remote}, err
	}
}

// conn says that it goes to the server: a Sentinel client compares that with the address of the master.
// It is a TCPConn still, so that the client can see whether it was closed.
type conn struct {
	*net.TCPConn
	remote net.Addr
}

func (c conn) RemoteAddr() net.Addr { return c.remote }

// failing is the server that a fault is to hit: where the key of the load's user lives.
func (g *group) failing(t *testing.T, s *redisstore.Store, key string) site {
	server := g.servers[0]
	switch g.topology {
	case sentinel:
		server = g.sentinel.Master()
	case cluster:
		server = g.at(t, s.Partition(key))
	}
	return site{t: t, group: g, server: server, proxy: g.proxies[server.Addr()]}
}

func (g *group) at(t *testing.T, addr string) *redistest.Server {
	for _, s := range g.servers {
		if s.Addr() == addr {
			return s
		}
	}
	t.Fatalf("no server at %q", addr)
	return nil
}

// promotion returns a function that waits until a replica of the server has taken over. It has to be
// called while the server lives.
func (s site) promotion() (wait func()) {
	if s.group.topology == sentinel {
		replica := s.group.sentinel.Replica()
		return func() {
			s.until("promotion", func() bool {
				return s.group.sentinel.Master() == replica && says(s.t, replica, "replication", "role:master")
			})
		}
	}
	_, port, _ := strings.Cut(s.server.Addr(), ":")
	for _, n := range s.group.servers {
		if says(s.t, n, "replication", "master_port:"+port) {
			return func() {
				s.until("promotion", func() bool {
					return says(s.t, n, "replication", "role:master") && strings.Contains(fmt.Sprint(n.Do(s.t, "CLUSTER", "INFO")), "cluster_state:ok")
				})
			}
		}
	}
	s.t.Fatalf("%s has no replica", s.server.Addr())
	return nil
}

func says(t *testing.T, s *redistest.Server, section, line string) bool {
	return strings.Contains(fmt.Sprint(s.Do(t, "INFO", section)), line+"\r\n")
}
