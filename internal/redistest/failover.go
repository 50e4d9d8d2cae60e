package redistest

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"
)

const failoverWait = 20 * time.Second

// Master is the one that the sentinels name at this moment, so it changes some
// seconds after the old one was killed. One live sentinel is enough to ask; of
// several, the one with the latest failover is right, as the others hear of it
// up to 2 s later.
func (s *Sentinel) Master() *Server {
	s.t.Helper()

	var (
		current *Server
		latest  = -1
		failed  error
	)

	for _, sentinel := range s.sentinels {
		if sentinel.PID() == 0 {
			continue
		}

		epoch, err := epochOf(sentinel)
		failed = errors.Join(failed, err)

		if err != nil || epoch <= latest {
			continue
		}

		master, err := s.masterBy(sentinel)
		failed = errors.Join(failed, err)

		if err == nil {
			current, latest = master, epoch
		}
	}

	if current == nil {
		s.t.Fatalf("no sentinel names the master: %v", failed)
	}

	return current
}

// Replica is the server that is not [Sentinel.Master], alive or not.
func (s *Sentinel) Replica() *Server {
	s.t.Helper()

	return s.other(s.Master())
}

// Failover promotes the replica while the master lives, and returns when every
// sentinel names the new master and that one calls itself master. The old one
// still takes writes for up to 10 s more, until the sentinels demote it.
func (s *Sentinel) Failover(t testing.TB) {
	t.Helper()

	old := s.Master()
	promoted := s.other(old)

	// Right after another failover the sentinel refuses: it still works on that
	// one, or the replica is not known to be good yet.
	mustEventually(t, failoverWait, "failover accepted", func() error {
		_, err := s.sentinels[0].ask("SENTINEL", "FAILOVER", masterName)

		return err
	})
	mustEventually(t, failoverWait, "promotion", func() error { return s.promoted(promoted) })
}

func (s *Sentinel) promoted(want *Server) error {
	role, err := replication(want)
	if err != nil {
		return err
	}

	if role["role"] != "master" {
		return fmt.Errorf("%s is a %s", want.Addr(), role["role"])
	}

	for _, sentinel := range s.sentinels {
		master, err := s.masterBy(sentinel)
		if err != nil {
			return err
		}

		if master != want {
			return fmt.Errorf("sentinel %s still names %s", sentinel.Addr(), master.Addr())
		}
	}

	return nil
}

// epochOf counts the failovers that the sentinel knows of.
func epochOf(sentinel *Server) (int, error) {
	reply, err := sentinel.ask("SENTINEL", "MASTER", masterName)
	if err != nil {
		return 0, err
	}

	list, _ := reply.([]any) // name, value, name, value, ...
	for i := 0; i+1 < len(list); i += 2 {
		if list[i] == "config-epoch" {
			return strconv.Atoi(fmt.Sprint(list[i+1]))
		}
	}

	return 0, fmt.Errorf("sentinel %s: no config-epoch in %v", sentinel.Addr(), reply)
}

func (s *Sentinel) masterBy(sentinel *Server) (*Server, error) {
	reply, err := sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)
	if err != nil {
		return nil, err
	}

	if pair, ok := reply.([]any); ok && len(pair) == 2 {
		addr := net.JoinHostPort(fmt.Sprint(pair[0]), fmt.Sprint(pair[1]))
		for _, server := range s.pair {
			if server.Addr() == addr {
				return server, nil
			}
		}
	}

	return nil, fmt.Errorf("sentinel %s names %v", sentinel.Addr(), reply)
}

func (s *Sentinel) other(server *Server) *Server {
	if server == s.pair[0] {
		return s.pair[1]
	}

	return s.pair[0]
}
