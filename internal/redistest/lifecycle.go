package redistest

import (
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	refuseWait = 5 * time.Second
	stopWait   = 2 * time.Second
)

// Launch starts a server that was reserved or killed, and does nothing when it
// runs. It ends the test when the port cannot be had within 5 s.
func (s *Server) Launch() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.proc.alive() {
		return
	}

	deadline := time.Now().Add(portWait)

	for {
		err := s.launch()
		if err == nil {
			return
		}

		if !errors.Is(err, errPortTaken) || time.Now().After(deadline) {
			s.t.Fatalf("redis-server %s again: %v", s.Addr(), err)
		}

		time.Sleep(pollEvery)
	}
}

// Restart comes back on the same port with no data and no scripts, like a Redis
// without persistence after a crash. A test that wants a server to load data
// passes its own --dir to [Start]: files there are left alone.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Launch()
}

// Kill returns when dials are refused: from then on a test knows which of the
// three faults "refused", "hangs" and "SYN dropped" its client sees.
func (s *Server) Kill() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.proc.alive() {
		return
	}

	s.proc.kill()

	err := eventually(refuseWait, func() error {
		if accepts(s.Addr()) {
			return errors.New("port still accepts")
		}

		return nil
	})
	if err != nil {
		s.t.Errorf("redis-server %s killed: %v", s.Addr(), err)
	}
}

// Stop freezes the server. The kernel still accepts connections for it (its
// backlog is 511): dials succeed and the first command hangs.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal("stop", func(p *process) error { return suspend(p.cmd.Process) })
}

// Cont lets a stopped server go on with the requests that arrived meanwhile,
// also those whose clients gave up long ago.
func (s *Server) Cont() {
	s.t.Helper()
	s.signal("continue", func(p *process) error { return resume(p.cmd.Process) })
}

// PID is 0 while the server does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.proc.alive() {
		return 0
	}

	return s.proc.pid()
}

func (s *Server) signal(what string, send func(*process) error) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()

	err := errors.New("it does not run")
	if s.proc.alive() {
		err = send(s.proc)
	}

	if err != nil {
		s.t.Fatal(fmt.Errorf("%s redis-server %s: %w", what, s.Addr(), err))
	}
}

func accepts(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}

	return conn.Close() == nil
}
