package fallback

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Health reads the present state.
func (s *Store) Health() core.Health {
	h := core.Health{Share: s.portion.share(), Replicas: int(s.portion.replicas.Load()), Assumed: s.portion.assumed(), LocalDecisions: s.decided.Load(), Failures: core.FailureCounts{
		Store:   s.faults[core.FaultStore].Load(),
		Config:  s.faults[core.FaultConfig].Load(),
		Request: s.faults[core.FaultRequest].Load(),
		Caller:  s.faults[core.FaultCaller].Load(),
	}}
	h.Settled, h.Unsettled = s.settled.Load(), s.unsettled.Load()+s.ledger.missed.Load()
	s.breakers.Range(func(_, v any) bool {
		b := v.(*breaker)
		n := core.NodeHealth{Partition: b.partition, Degraded: b.degraded.Load()}
		if at := b.since.Load(); at != 0 {
			n.Since = time.Unix(0, at)
		}
		if err := b.cause.Load(); err != nil {
			n.LastError = (*err).Error()
		}
		h.Degraded = h.Degraded || n.Degraded
		h.Nodes = append(h.Nodes, n)
		return true
	})
	slices.SortFunc(h.Nodes, func(a, b core.NodeHealth) int { return strings.Compare(a.Partition, b.Partition) })
	return h
}

// changed tells of a change of state: one event and one line each, however many requests saw
// it. It is called under the breaker's lock, so the events of a node come in order.
func (s *Store) changed(b *breaker, degraded bool) {
	now := time.Now()
	s.outAt.Store(s.now())
	b.since.Store(now.UnixNano())
	c := Change{Partition: b.partition, Degraded: degraded, At: now}
	line := s.back(b)
	if degraded {
		if err := b.cause.Load(); err != nil {
			c.Err = *err
		}
		line = s.away(c)
	} else {
		b.explained.Store(false)
	}
	s.notices.add(notice{partition: b.partition, change: true, tell: func() {
		line()
		for _, f := range s.onChange {
			f(c)
		}
	}})
}

// oddEvery bounds how often requests that the store cannot answer, though it is well, are logged:
// the breaker does not count them, so nothing else would tell.
const oddEvery = time.Minute

func (s *Store) failed(err error) {
	fault := core.FaultOf(err)
	s.faults[fault].Add(1)
	if fault != core.FaultRequest {
		return
	}
	now := time.Now().UnixNano()
	if last := s.oddAt.Load(); (last == 0 || now-last > int64(oddEvery)) && s.oddAt.CompareAndSwap(last, now) {
		s.warn("", "tierlimit: shared store could not answer a request, deciding it locally", "err", err)
	}
}

// stillFailing notes what a probe met, and logs it once where it says more than what opened the
// breaker: a call that was too late does not know why.
func (s *Store) stillFailing(b *breaker, err error) {
	before := b.cause.Swap(&err)
	if before != nil && (late(err) && !late(*before) || (*before).Error() == err.Error()) {
		return
	}
	if b.explained.CompareAndSwap(false, true) {
		s.warn(b.partition, "tierlimit: shared store is still failing", append(node(b.partition), "err", err)...)
	}
}

func late(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && timeout.Timeout()
}

// node names the node where there are several.
func node(partition string) []any {
	if partition == "" {
		return nil
	}
	return []any{"node", partition}
}

// warn logs without waiting for the log.
func (s *Store) warn(partition, msg string, attrs ...any) {
	s.notices.add(notice{partition: partition, tell: func() { s.log.Warn(msg, attrs...) }})
}

// back and away are the lines of a change.
func (s *Store) back(b *breaker) func() {
	msg := "tierlimit: shared store is back"
	if b.replaced.Load() {
		msg = "tierlimit: shared store is back, another node has taken over"
	}
	return func() { s.log.Info(msg, node(b.partition)...) }
}

func (s *Store) away(c Change) func() {
	attrs := append(node(c.Partition), "share", s.portion.share(), "err", c.Err)
	level, msg := slog.LevelWarn, "tierlimit: shared store failed, deciding locally"
	if core.FaultOf(c.Err) == core.FaultConfig {
		level, msg = slog.LevelError, "tierlimit: shared store refuses by configuration and will not mend itself, deciding locally"
	}
	if s.portion.assumed() {
		attrs = append(attrs, "hint", "share assumes one replica: none were counted yet; fallback.WithReplicas sets how many there are")
	}
	return func() { s.log.Log(context.Background(), level, msg, attrs...) }
}
