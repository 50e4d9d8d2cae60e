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

// startProbe runs one prober for the time that b is open. It is called under the breaker's lock.
func (s *Store) startProbe(b *breaker) {
	s.life.Lock()
	defer s.life.Unlock()
	if !s.closed {
		s.probes.Go(func() { s.probe(b) })
	}
}

// probe runs the real script on a bucket of its own until it succeeds in time. A mere PING
// would succeed on a node that is read-only or out of memory.
func (s *Store) probe(b *breaker) {
	s.changed(b, true)
	canary := []core.Bucket{{Key: s.canaryKey(b.partition), Limit: core.PerSecond(1_000_000), Cost: 1, Level: "canary"}}
	out := make([]core.Outcome, 1)
	for {
		select {
		case <-s.quit:
			return
		case <-time.After(probeEvery - rand.N(probeEvery/5)): // replicas must not probe in step
		}
		done, refused := b.circuit.Allow()
		if refused != nil {
			continue
		}
		err := s.shared.Take(context.Background(), canary, out)
		if err == nil {
			err = out[0].Err
		}
		if err != nil {
			s.stillFailing(b, err)
		}
		done(err)
		if !b.degraded.Load() {
			s.changed(b, false)
			return
		}
	}
}

// canaryKey finds a key that lives on the partition.
func (s *Store) canaryKey(partition string) string {
	for i := 0; ; i++ {
		key := "canary:" + strconv.Itoa(i)
		if i == 1<<16 || s.shared.Partition(key) == partition {
			return key
		}
	}
}
