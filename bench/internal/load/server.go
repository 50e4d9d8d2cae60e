package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// fillBytes is about the length of an instant in nanoseconds.
const fillBytes = 19

// Usage is what a Redis server has done since it started.
type Usage struct {
	CPU      float64 // seconds, all threads
	MainCPU  float64 // seconds, the thread that runs commands
	Commands float64 // those inside scripts too
	Reads    float64 // reads of a client's socket: round trips, but where a client pipelines
	In, Out  float64 // bytes
}

// Server reads the usage of one server, or of all nodes of a Cluster together, over connections
// of its own.
type Server struct{ nodes []*redis.Client }

// NewServer does not connect yet.
func NewServer(addrs ...string) *Server {
	s := &Server{}
	for _, addr := range addrs {
		s.nodes = append(s.nodes, redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1, ReadTimeout: time.Minute}))
	}
	return s
}

// Close closes the connections.
func (s *Server) Close() error { return s.each(func(rdb *redis.Client) error { return rdb.Close() }) }

func (s *Server) each(f func(*redis.Client) error) error {
	var errs []error
	for _, rdb := range s.nodes {
		errs = append(errs, f(rdb))
	}
	return errors.Join(errs...)
}

// Flush forgets all keys; it waits until their memory is free, so that no run pays for the
// keys of the one before.
func (s *Server) Flush(ctx context.Context) error {
	return s.each(func(rdb *redis.Client) error { return rdb.FlushAll(ctx).Err() })
}

// Fill makes n keys that nobody asks for.
func (s *Server) Fill(ctx context.Context, n int) error {
	return s.nodes[0].Do(ctx, "DEBUG", "POPULATE", n, "filler", fillBytes).Err()
}

// Version is the server's.
func (s *Server) Version(ctx context.Context) (string, error) {
	fields, err := info(ctx, s.nodes[0], "server")
	return fields["redis_version"], err
}

// Usage reads the counters.
func (s *Server) Usage(ctx context.Context) (sum Usage, err error) {
	err = s.each(func(rdb *redis.Client) error {
		u, err := usage(ctx, rdb)
		sum.CPU += u.CPU
		sum.MainCPU += u.MainCPU
		sum.Commands += u.Commands
		sum.Reads += u.Reads
		sum.In += u.In
		sum.Out += u.Out
		return err
	})
	return sum, err
}

func usage(ctx context.Context, rdb *redis.Client) (Usage, error) {
	fields, err := info(ctx, rdb, "everything")
	if err != nil {
		return Usage{}, err
	}
	var failed error
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(fields[name], 64)
		if err != nil && failed == nil {
			failed = fmt.Errorf("INFO: %s: %w", name, err)
		}
		return v
	}
	return Usage{
		CPU:      number("used_cpu_sys") + number("used_cpu_user"),
		MainCPU:  number("used_cpu_sys_main_thread") + number("used_cpu_user_main_thread"),
		Commands: number("total_commands_processed"),
		Reads:    number("total_reads_processed"),
		In:       number("total_net_input_bytes"),
		Out:      number("total_net_output_bytes"),
	}, failed
}

func info(ctx context.Context, rdb *redis.Client, section string) (map[string]string, error) {
	text, err := rdb.Info(ctx, section).Result()
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, err
}
