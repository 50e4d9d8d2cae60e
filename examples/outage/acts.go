package main

import (
	"context"
	"errors"
	"time"
)

// fault is a way in which Redis goes away and comes back.
type fault struct {
	name string
	hit  func(*redisServer) error
	heal func(context.Context, *redisServer) error
}

var (
	killed = fault{
		"Redis killed",
		(*redisServer).kill,
		func(ctx context.Context, s *redisServer) error { return s.start(ctx) },
	}
	stopped = fault{
		"Redis stopped",
		func(s *redisServer) error { return suspend(s.cmd.Process) },
		func(_ context.Context, s *redisServer) error { return resume(s.cmd.Process) },
	}
	faults = map[string][]fault{"kill": {killed}, "stop": {stopped}, "both": {killed, stopped}}
)

// acts breaks Redis and mends it, with a phase of health before each fault and after the last. What
// happens is noted before it is done, so that nothing which follows from it can be noted earlier.
func acts(ctx context.Context, server *redisServer, o options, t *timeline) error {
	if err := pause(ctx, o.phase); err != nil {
		return err
	}
	for _, f := range faults[o.fault] {
		t.note(f.name)
		if err := f.hit(server); err != nil {
			return err
		}
		if err := pause(ctx, o.phase); err != nil {
			return err
		}
		t.note(restored)
		if err := f.heal(ctx, server); err != nil {
			return err
		}
		if err := pause(ctx, o.phase); err != nil {
			return err
		}
		// 1.5 s is promised, which is more than the shortest phase, and the machine may be loaded.
		for deadline := time.Now().Add(3 * time.Second); t.away() > 0 && time.Now().Before(deadline); {
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("interrupted")
	case <-time.After(d):
		return nil
	}
}
