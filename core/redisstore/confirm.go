package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// WithWait has each call confirmed by so many replicas, with WAIT behind the script on the same
// connection: what they have, a failover to one of them does not forget. A call that they do not
// confirm within the budget is a failure of the store, for the levels' OnFailure to judge, and its
// charge stays spent. That goes for every level of every limiter over this store: while a replica that is
// needed has stopped, all of them go by their OnFailure, though the primary is well. It costs the way to the
// replicas and back; the default is 0, which asks for none. The user needs the right +wait.
func WithWait(replicas int) Option {
	return func(s *Store) error {
		if replicas < 0 || replicas > 100 {
			return fmt.Errorf("wait is for %d replicas, want 0 to 100", replicas)
		}
		s.replicas = replicas
		return nil
	}
}

var errUnconfirmed = &core.StoreError{Fault: core.FaultStore, Err: errors.New("redisstore: too few replicas have confirmed the call within the budget")}

// pipeliner is a client that can send WAIT on the connection of the script.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// patience is how long the server waits for replicas: it has to tell within the budget.
func (s *Store) patience() time.Duration { return max(s.budget*3/4, time.Millisecond) }

// addWait puts WAIT behind what a pipeline holds.
func (s *Store) addWait(ctx context.Context, pipe redis.Pipeliner) confirmation {
	if s.replicas == 0 {
		return confirmation{}
	}
	cmd := onceInt{redis.NewIntCmd(ctx, "wait", s.replicas, s.patience().Milliseconds())}
	_ = pipe.Process(ctx, cmd) // only queues
	return confirmation{cmd.IntCmd, int64(s.replicas)}
}

// confirmation is a WAIT that has been sent, or none that had to be.
type confirmation struct {
	cmd  *redis.IntCmd
	want int64
}

// err says whether the calls of its pipeline have been confirmed.
func (c confirmation) err() error {
	switch {
	case c.cmd == nil:
		return nil
	case c.cmd.Err() != nil:
		return c.cmd.Err()
	case c.cmd.Val() < c.want:
		return errUnconfirmed
	}
	return nil
}

type onceInt struct{ *redis.IntCmd }

func (onceInt) NoRetry() bool { return true }

// confirmed is process with a confirmation.
func (s *Store) confirmed(ctx context.Context, cmd once) ([]int64, error) {
	pipe := s.pipes.Pipeline()
	_ = pipe.Process(ctx, cmd) // only queues
	confirmation := s.addWait(ctx, pipe)
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := cmd.Err(); err != nil {
		return nil, err
	}
	return cmd.Val(), confirmation.err()
}
