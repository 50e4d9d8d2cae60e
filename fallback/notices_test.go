package fallback_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/fallback"
)

// Nodes change independently of each other, but whoever listens hears of one after the other.
func TestListenersAreCalledOneAtATime(t *testing.T) {
	n := &nodes{fake: newFake(), down: "ab"}
	var inside atomic.Int32
	both, gate, heard := make(chan struct{}, 2), make(chan struct{}), make(chan string, 2)
	s := wrap(t, n, fallback.WithOnChange(func(c fallback.Change) {
		if inside.Add(1) > 1 {
			both <- struct{}{}
		}
		<-gate
		inside.Add(-1)
		heard <- c.Partition
	}))
	for range 5 {
		take(t, s, at("a", core.Local, 100, 1))
		take(t, s, at("b", core.Local, 100, 1))
	}
	select {
	case <-both:
		t.Error("called again before it had returned")
	case <-time.After(50 * time.Millisecond):
	}
	close(gate)
	if first, second := <-heard, <-heard; first != "a" || second != "b" {
		t.Errorf("heard of %s, then of %s; want a, then b", first, second)
	}
}

// blocked is where a listener or a log hangs until it is opened.
type blocked struct {
	gate chan struct{}
	bytes.Buffer
}

func (b *blocked) Write(p []byte) (int, error) {
	<-b.gate
	return b.Buffer.Write(p)
}

// A recovery does not wait for a log or a listener that hangs, and Close waits until both have been told.
func TestASlowListenerHoldsUpNobody(t *testing.T) {
	for name, who := range map[string]string{"listener": "listener", "log": "log"} {
		t.Run(name, func(t *testing.T) {
			shared, log := newSettler(), &blocked{gate: make(chan struct{})}
			var heard []bool
			listener := func(c fallback.Change) {
				<-log.gate
				heard = append(heard, c.Degraded)
			}
			opts := []fallback.Option{fallback.WithOnChange(listener)}
			if who == "log" {
				opts = append(opts, fallback.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
			}
			s := wrap(t, shared, opts...)
			trip(t, s, shared)
			comeBack(t, s, shared)
			shared.fail(&core.StoreError{Fault: core.FaultRequest, Err: errDown})
			take(t, s, at("b", core.Local, 100, 1)) // logs a line of its own
			shared.fail(nil)
			time.AfterFunc(50*time.Millisecond, func() { close(log.gate) })
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if len(heard) != 2 || !heard[0] || heard[1] {
				t.Errorf("heard %v, want away and back", heard)
			}
			if lines := strings.Count(log.String(), "\n"); who == "log" && lines != 3 {
				t.Errorf("%d lines, want 3:\n%s", lines, log.String())
			}
		})
	}
}

func TestAListenerMayClose(t *testing.T) {
	shared := newSettler()
	var s *fallback.Store
	closed := make(chan error, 1)
	s = wrap(t, shared, fallback.WithOnChange(func(fallback.Change) { closed <- s.Close() }))
	trip(t, s, shared)
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Close has not returned")
	}
}

// When others have the keys of a node, the log does not say that it is back.
func TestTheLogTellsOfATakeover(t *testing.T) {
	n, log := &moved{fake: newFake(), at: "old"}, &bytes.Buffer{}
	s := wrap(t, n, fallback.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	n.fail(errors.New("gone"))
	for range 5 {
		take(t, s, at("a", core.Local, 100, 1))
	}
	n.move("new")
	eventually(t, "the old node forgotten", 3*time.Second, func() bool { return len(s.Health().Nodes) == 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "another node has taken over") {
		t.Errorf("the log:\n%s", log)
	}
}
