package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// adminTimeout bounds one whole admin command, the dial included.
const adminTimeout = 3 * time.Second

// Addr is host:port, and stays the same over kills and restarts.
func (s *Server) Addr() string { return loopback(s.port) }

// URL has the form redis://127.0.0.1:port/0, and rediss://user:password@127.0.0.1:port/0 over TLS.
func (s *Server) URL() string {
	if s.tls == nil {
		return "redis://" + s.Addr() + "/0"
	}

	return s.tls.url(s.Addr())
}

// Options are what a client has to be told, and nothing else.
func (s *Server) Options() *redis.Options {
	o := &redis.Options{Addr: s.Addr()}
	if s.tls != nil {
		o.Username, o.Password, o.TLSConfig = User, Password, s.tls.Config()
	}

	return o
}

// Client has the defaults of go-redis on purpose: they are what users run, and
// their retries and 3 s timeouts are part of what is under test.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()

	return closing(t, redis.NewClient(s.Options()))
}

// Do is for faults and checks. It uses a connection of its own, without retries
// and for at most 3 s, so that it works while the client under test is cut off
// and cannot hang the test. A nil reply is nil; an error reply ends the test.
func (s *Server) Do(t testing.TB, args ...any) any {
	t.Helper()

	reply, err := s.ask(args...)
	if err != nil {
		t.Fatalf("%v on %s: %v", args, s.Addr(), err)
	}

	return reply
}

func closing[C interface{ Close() error }](t testing.TB, client C) C {
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Errorf("close client: %v", err)
		}
	})

	return client
}

func (s *Server) ask(args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()

	o := s.Options()
	o.Protocol = 2
	o.PoolSize = 1
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout = adminTimeout
	o.ReadTimeout = adminTimeout
	o.WriteTimeout = adminTimeout
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

	client := redis.NewClient(o)
	defer client.Close()

	reply, err := client.Do(ctx, args...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}

	return reply, err
}

// answers asks for the process id, because on a port that was lost to another
// test the PING would be answered too, by the wrong server.
func (s *Server) answers(pid int) error {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return err // go-redis would log each of these
	}
	defer conn.Close()

	reply, err := s.ask("INFO", "server")
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil // NOAUTH and the like: it serves, only not this command
	}

	if err != nil {
		return err
	}

	if want := fmt.Sprintf("process_id:%d\r\n", pid); !strings.Contains(fmt.Sprint(reply), want) {
		return errors.New("another server has the port")
	}

	return nil
}
