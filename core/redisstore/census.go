package redisstore

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

//go:embed lua/census.lua
var luaCensus string

var censusScript = newScript(luaCensus)

// censusKey is beside the buckets, whose keys begin with a version.
const censusKey = "replicas"

// Live takes note of a replica for ttl, 1 ms or more, and counts those that are there. It serves no
// request and no breaker counts it.
func (s *Store) Live(ctx context.Context, replica string, ttl time.Duration) (n int, err error) {
	if replica == "" || ttl < time.Millisecond {
		return 0, fmt.Errorf("redisstore: replica %q for %v, want a name and 1ms or more", replica, ttl)
	}
	return s.census(ctx, replica, ttl)
}

// Leave takes a replica out of the count.
func (s *Store) Leave(ctx context.Context, replica string) error {
	_, err := s.census(ctx, replica, 0)
	return err
}

func (s *Store) census(ctx context.Context, replica string, ttl time.Duration) (int, error) {
	n, err := s.runAside(ctx, censusScript, tagOf(censusKey), []string{censusKey}, replica, ttl.Milliseconds())
	return int(n), err
}
