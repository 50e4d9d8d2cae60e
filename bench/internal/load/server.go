package load

import (
	"context"
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

// Server reads the usage of one server, over a connection of its own.
type Server struct{ rdb *redis.Client }

// NewServer does not connect yet.
func NewServer(addr string) *Server {
	return &Server{rdb: redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1, ReadTimeout: time.Minute})}
}

// Close closes the connection.
func (s *Server) Close() error { return s.rdb.Close() }

// Flush forgets all keys; it waits until their memory is free, so that no run pays for the
// keys of the one before.
func (s *Server) Flush(ctx context.Context) error { return s.rdb.FlushAll(ctx).Err() }

// Fill makes n keys that nobody asks for.
func (s *Server) Fill(ctx context.Context, n int) error {
	return s.rdb.Do(ctx, "DEBUG", "POPULATE", n, "filler", fillBytes).Err()
}

// Version is the server's.
func (s *Server) Version(ctx context.Context) (string, error) {
	fields, err := s.info(ctx, "server")
	return fields["redis_version"], err
}

// Usage reads the counters.
func (s *Server) Usage(ctx context.Context) (Usage, error) {
	fields, err := s.info(ctx, "everything")
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

func (s *Server) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.rdb.Info(ctx, section).Result()
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, err
}
