package fallback

import (
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/tierlimit/tierlimit/core"
)

// The breaker opens on tripConsecutive failures in a row, or when at least tripRatio of at
// least tripRequests calls failed within window.
const (
	tripConsecutive = 5
	tripRequests    = 20
	tripRatio       = 0.5
	window          = 10 * time.Second
	windowStep      = time.Second
)

// breaker guards one node. The library's half-open state is for the probe alone: a request
// only ever asks degraded.
type breaker struct {
	circuit   *gobreaker.TwoStepCircuitBreaker[struct{}]
	degraded  atomic.Bool
	partition string
	cause     atomic.Pointer[error]
	explained atomic.Bool  // a probe's error has been logged in this outage
	replaced  atomic.Bool  // no key lives here any more
	since     atomic.Int64 // when degraded last changed, in Unix nanoseconds; 0: never
	until     atomic.Int64 // the end of the hand-over, by the store's clock
	witness   witness
	key       string // the keeper's: one that lives on the node
}

func (s *Store) breaker(partition string) *breaker {
	if b, ok := s.breakers.Load(partition); ok {
		return b.(*breaker)
	}
	b := &breaker{partition: partition}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         partition,
		MaxRequests:  1,
		Interval:     window,
		BucketPeriod: windowStep,
		Timeout:      probeEvery / 2, // the prober's own waits are longer
		ReadyToTrip:  trips,
		IsExcluded:   excluded,
		OnStateChange: func(_ string, from, to gobreaker.State) {
			// This runs under the library's lock: note it, and leave the rest to others.
			switch {
			case from == gobreaker.StateClosed && to == gobreaker.StateOpen:
				b.degraded.Store(true)
				s.startProbe(b)
			case to == gobreaker.StateClosed:
				b.degraded.Store(false)
				s.changed(b, false)
			}
		},
	})
	actual, _ := s.breakers.LoadOrStore(partition, b)
	return actual.(*breaker)
}

// degraded reports whether the breaker of a node is open. A node that nothing has been heard of has none:
// what a Cluster's keys live on before its slot map is known would be listed for ever.
func (s *Store) degraded(partition string) bool {
	b, ok := s.breakers.Load(partition)
	return ok && b.(*breaker).degraded.Load()
}

func trips(c gobreaker.Counts) bool {
	counted := c.Requests - c.TotalExclusions
	return c.ConsecutiveFailures >= tripConsecutive ||
		(counted >= tripRequests && float64(c.TotalFailures) >= tripRatio*float64(counted))
}

// excluded errors say nothing about the store's health: a client could cause them at will.
func excluded(err error) bool {
	if err == nil {
		return false
	}
	f := core.FaultOf(err)
	return f == core.FaultRequest || f == core.FaultCaller
}

// record counts the outcome of one call. While the breaker is not closed only the probe counts:
// a late answer from before must neither close it nor take the probe's place.
func (b *breaker) record(err error) {
	if b.degraded.Load() {
		return
	}
	done, refused := b.circuit.Allow()
	if refused != nil {
		return
	}
	if err != nil && !excluded(err) {
		b.cause.Store(&err)
	}
	done(err)
}
