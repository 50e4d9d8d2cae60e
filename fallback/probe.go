package fallback

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// probeEvery is the longest wait between probes. It does not grow: a go-redis client that has
// given up dialling looks only once a second by itself, and both waits together must stay
// within the promised recovery.
const probeEvery = 300 * time.Millisecond

// canary is a bucket that is asked about instead of a request's.
func canary(key string) []core.Bucket {
	return []core.Bucket{{Key: key, Limit: core.PerSecond(1_000_000), Cost: 1, Level: "canary"}}
}

// startProbe tells that b has opened and runs one prober for the time that it is. It is called under the breaker's lock.
func (s *Store) startProbe(b *breaker) {
	s.life.Lock()
	defer s.life.Unlock()
	if !s.closed {
		s.changed(b, true)
		s.probes.Go(func() { s.probe(s.ctx, b) })
	}
}

// probe runs the real script on a bucket of its own until it succeeds in time. A mere PING
// would succeed on a node that is read-only or out of memory. A node on which no key lives any more, since
// another has taken over, holds up nobody: its breaker closes and is forgotten.
//
// Before the breaker closes, the node is charged what was admitted without it.
func (s *Store) probe(ctx context.Context, b *breaker) {
	key, lives := s.keyOn("canary:", b.partition)
	out := make([]core.Outcome, 1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(probeEvery - rand.N(probeEvery/5)): // replicas must not probe in step
		}
		if s.shared.Partition(key) != b.partition {
			key, lives = s.keyOn("canary:", b.partition)
		}
		done, refused := b.circuit.Allow()
		if refused != nil {
			continue
		}
		var err error
		if lives {
			if err = s.shared.Take(context.Background(), canary(key), out); err == nil {
				err = out[0].Err
			}
		}
		if err == nil {
			if late := s.readmit(ctx, b); lives {
				err = late
			}
		}
		if err != nil {
			s.stillFailing(b, err)
		}
		b.replaced.Store(!lives)
		done(err)
		if !b.degraded.Load() {
			s.recovered(ctx, b)
			if !lives {
				s.breakers.CompareAndDelete(b.partition, b)
			}
			return
		}
	}
}

// keyOn finds a key that begins so and lives on the partition, if any does.
func (s *Store) keyOn(begin, partition string) (key string, lives bool) {
	for i := range 1 << 14 {
		key = begin + strconv.Itoa(i)
		if s.shared.Partition(key) == partition {
			return key, true
		}
	}
	return key, false
}
