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
	// countAgain is how soon one that could not say that it is there tries again, for want of a store that
	// answers: before the others take it for gone.
	countAgain = countEvery * 5 / 8
)

// keep does, while the shared store is well, what an outage will need. No request waits for it.
func (s *Store) keep(ctx context.Context) {
	for wait := rand.N(firstCount); ; wait -= rand.N(wait / 5) { // replicas must not come in step
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = countEvery
		s.greet(ctx)
		if !s.count(ctx) {
			wait = countAgain
		}
		s.breakers.Range(func(_, v any) bool {
			if b := v.(*breaker); s.deserted(b) {
				s.breakers.CompareAndDelete(b.partition, b)
			} else {
				s.testify(ctx, b)
			}
			return ctx.Err() == nil
		})
		s.retry(ctx)
		s.tidy()
	}
}

// greet asks a store of which nothing has been heard yet: a replica that serves nobody learns, too, whether it
// reaches it.
func (s *Store) greet(ctx context.Context) {
	heard := !s.watched
	s.breakers.Range(func(_, _ any) bool {
		heard = true
		return false
	})
	if !heard {
		_ = s.shared.Peek(ctx, canary("canary:"), make([]core.Outcome, 1)) // the store reports how it went
	}
}

// deserted reports whether a node that was well has no keys any more: another has taken over, or it was taken out.
// One that has failed is its prober's.
func (s *Store) deserted(b *breaker) bool {
	if b.degraded.Load() || (b.key != "" && s.shared.Partition(b.key) == b.partition) {
		return false
	}
	key, lives := s.keyOn("canary:", b.partition)
	b.key = key
	return !lives
}

// count says that this replica is there and asks how many there are. It reports whether that is known, or another
// try soon would not help.
func (s *Store) count(ctx context.Context) bool {
	if s.census == nil || s.portion.given > 0 {
		return true
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
			return false
		}
	}
	if at := s.outAt.Load(); at != 0 && s.now() < at+int64(countFor) {
		s.readings.failed(at) // between two counts
	}
	n, err := s.census.Live(ctx, s.id, countFor)
	if err == nil {
		s.portion.replicas.Store(s.readings.take(int64(n), s.portion.replicas.Load(), s.now()))
		return true
	}
	s.readings.failed(s.now())
	ill := core.FaultOf(err) == core.FaultStore
	if !ill && ctx.Err() == nil && !s.uncounted {
		s.uncounted = true
		s.log.Warn("tierlimit: replicas cannot be counted, in an outage the share is as last known", "share", s.portion.share(), "err", err, "hint", "set fallback.WithReplicas")
	}
	return !ill
}

// leave tells the others that this replica goes, and takes its witnesses along. What cannot be told, they
// find out.
func (s *Store) leave() {
	ctx := context.Background()
	if s.Health().Degraded {
		return
	}
	if s.census != nil && s.portion.replicas.Load() > 0 {
		_ = s.census.Leave(ctx, s.id)
	}
	s.breakers.Range(func(_, v any) bool {
		if w := &v.(*breaker).witness; w.charged {
			_ = s.shared.Reset(ctx, w.buckets())
		}
		return true
	})
}
