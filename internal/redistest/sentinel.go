package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
)

const (
	masterName = "tierlimit"
	sentinels  = 3
)

// Sentinel is one master, one replica and three sentinels. They declare a
// server down after 1 s and give a failover 5 s: the shortest that stays stable
// on two cores. The zero value is not usable.
type Sentinel struct {
	t         testing.TB
	pair      [2]*Server
	sentinels []*Server
}

// StartSentinel returns when a failover can succeed: the replica is in sync and
// every sentinel knows it and the other two. It takes about 3 s, nearly all of
// it the sentinels' own pace of looking for each other.
func StartSentinel(t testing.TB) *Sentinel {
	t.Helper()

	return startSentinel(t, func(args ...string) *Server { return Start(t, args...) })
}

// StartSentinel is as the function [StartSentinel].
func (c *TLS) StartSentinel() *Sentinel {
	c.t.Helper()

	return startSentinel(c.t, c.Start)
}

func startSentinel(t testing.TB, server func(args ...string) *Server) *Sentinel {
	t.Helper()

	master := server()
	replica := server("--replicaof", "127.0.0.1", fmt.Sprint(master.port))
	s := &Sentinel{t: t, pair: [2]*Server{master, replica}}

	// A sentinel that meets a master without replicas looks again after 10 s.
	mustEventually(t, readyWait, "replica link", func() error { return linked(replica) })

	for range sentinels {
		s.sentinels = append(s.sentinels, start(t, func() *Server { return reserveSentinel(t, master) }))
	}

	mustEventually(t, readyWait, "sentinels", s.complete)

	return s
}

// reserveSentinel gives each its own file, because a sentinel rewrites it.
func reserveSentinel(t testing.TB, master *Server) *Server {
	t.Helper()

	s := reserve(t, master.tls)
	file := filepath.Join(s.dir, "sentinel.conf")
	text := fmt.Sprintf(`port %d
bind 127.0.0.1
dir %q
sentinel monitor %[3]s 127.0.0.1 %[4]d 2
sentinel down-after-milliseconds %[3]s 1000
sentinel failover-timeout %[3]s 5000
`, s.port, s.dir, masterName, master.port)

	if s.tls != nil {
		text += s.tls.sentinel()
	}

	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	s.args = append([]string{file, "--sentinel"}, s.tls.args(s.port)...)

	return s
}

// Addrs are those of the sentinels, as a client is configured with.
func (s *Sentinel) Addrs() []string { return addrs(s.sentinels) }

// MasterName is the same for every group: each has its own sentinels.
func (*Sentinel) MasterName() string { return masterName }

// Sentinels are servers too, to be killed or stopped.
func (s *Sentinel) Sentinels() []*Server { return append([]*Server(nil), s.sentinels...) }

// Options are what a client has to be told, see [Server.Options].
func (s *Sentinel) Options() *redis.FailoverOptions {
	o := s.pair[0].Options()

	return &redis.FailoverOptions{
		MasterName:       s.MasterName(),
		SentinelAddrs:    s.Addrs(),
		SentinelUsername: o.Username,
		SentinelPassword: o.Password,
		Username:         o.Username,
		Password:         o.Password,
		TLSConfig:        o.TLSConfig,
	}
}

// Client has the defaults of go-redis, see [Server.Client].
func (s *Sentinel) Client(t testing.TB) *redis.Client {
	t.Helper()

	return closing(t, redis.NewFailoverClient(s.Options()))
}

func addrs(servers []*Server) []string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = s.Addr()
	}

	return list
}
