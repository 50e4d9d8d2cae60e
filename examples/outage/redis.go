package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a redis-server of the program's own. It listens on a socket in a private directory:
// a port could be taken by someone else while the server is down.
type redisServer struct {
	dir string
	cmd *exec.Cmd
}

func (s *redisServer) socket() string { return filepath.Join(s.dir, "redis.sock") }
func (s *redisServer) pid() int       { return s.cmd.Process.Pid }

// start returns when the server answers. It begins empty each time.
func (s *redisServer) start(ctx context.Context) error {
	logFile := filepath.Join(s.dir, "redis.log")
	out, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", s.socket(), "--dir", s.dir, "--save", "", "--appendonly", "no")
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, dieWithParent()
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return errors.New("redis-server is not in PATH: `make deps` installs it, with apt-get or brew")
	} else if err != nil {
		return err
	}
	s.cmd = cmd
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket(), MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if pause(ctx, 5*time.Millisecond) != nil {
			said, _ := os.ReadFile(logFile) // only adds to the message
			return fmt.Errorf("redis-server does not answer: %w; it said:\n%s", err, said)
		}
	}
}

// kill returns when the process is gone. SIGKILL ends a stopped process as well.
func (s *redisServer) kill() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // says that it was killed
	s.cmd = nil
	return err
}
