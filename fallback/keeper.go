package fallback

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const (
	// countEvery is how often replicas are counted, and countFor how long one that says no more counts.
	countEvery = 2 * time.Second
	countFor   = 2 * countEvery
	// firstCount is how long a replica that has just started waits at most.
	firstCount = 200 * time.Millisecond
)

// keep does, while the shared store is well, what an outage will need. No request waits for it.
func (s *Store) keep(ctx context.Context) {
	for wait := rand.N(firstCount); ; wait = countEvery - rand.N(countEvery/5) { // replicas must not come in step
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		s.count(ctx)
		s.breakers.Range(func(_, v any) bool {
			s.testify(ctx, v.(*breaker))
			return ctx.Err() == nil
		})
		s.retry(ctx)
		s.tidy()
	}
}

// count asks how many replicas there are.
func (s *Store) count(ctx context.Context) {
	if s.census == nil || s.portion.given > 0 {
		return
	}
	known, down := 0, 0
	s.breakers.Range(func(_, v any) bool {
		known++
		if v.(*breaker).degraded.Load() {
			down++
		}
		return true
	})
	if down > 0 {
		s.readings.failed(s.now())
		if down == known {
			return
		}
	}
	n, err := s.census.Live(ctx, s.id, countFor)
	switch {
	case err == nil:
		s.portion.replicas.Store(s.readings.take(int64(n), s.portion.replicas.Load(), s.now()))
	case ctx.Err() == nil:
		s.readings.failed(s.now())
		if core.FaultOf(err) != core.FaultStore && !s.uncounted {
			s.uncounted = true
			s.log.Warn("tierlimit: replicas cannot be counted, in an outage the share is as last known", "share", s.portion.share(), "err", err, "hint", "set fallback.WithReplicas")
		}
	}
}

// leave tells the others that this replica goes. What cannot be told, they find out.
func (s *Store) leave() {
	if s.census != nil && s.portion.replicas.Load() > 0 && !s.Health().Degraded {
		_ = s.census.Leave(context.Background(), s.id)
	}
}
