package fallback_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/fallback"
)

// nodes is a shared store of several nodes, "a" for the keys that begin so and so on, which fail
// one by one. The fallback's own keys are on a and b by turns. As redisstore does, it charges what it can answer for.
type nodes struct {
	*fake
	down string
}

func (n *nodes) Partition(key string) string {
	if strings.HasPrefix(key, "canary:") || strings.HasPrefix(key, "witness:") {
		return [...]string{"a", "b"}[key[len(key)-1]%2]
	}
	return key[:1]
}

func (n *nodes) Take(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	return n.judge(b, out, func(b []core.Bucket, out []core.Outcome) error { return n.fake.Take(ctx, b, out) })
}

func (n *nodes) Peek(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	return n.judge(b, out, func(b []core.Bucket, out []core.Outcome) error { return n.fake.Peek(ctx, b, out) })
}

// fails reports whether the node of a key does.
func (n *nodes) fails(key string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(n.down, n.Partition(key))
}

func (n *nodes) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = ""
}

func (n *nodes) judge(b []core.Bucket, out []core.Outcome, ask func([]core.Bucket, []core.Outcome) error) error {
	var alive []core.Bucket
	for i := range b {
		if !n.fails(b[i].Key) {
			alive = append(alive, b[i])
		}
	}
	answers := make([]core.Outcome, len(alive))
	err := errDown
	if len(alive) > 0 {
		err = ask(alive, answers)
	}
	if err != nil {
		return err
	}
	for i := range b {
		if n.fails(b[i].Key) {
			out[i] = core.Outcome{Source: core.FromNothing, Err: errDown}
		} else {
			out[i], answers = answers[0], answers[1:]
		}
	}
	return nil
}

func at(key string, mode core.FailureMode, quota, cost int64) core.Bucket {
	return core.Bucket{Key: key, Limit: core.PerHour(quota), Cost: cost, Level: key, OnFailure: mode}
}

// leftShared is what the shared store says is left, whatever fails.
func leftShared(t *testing.T, n *nodes, b core.Bucket) int64 {
	t.Helper()
	out := make([]core.Outcome, 1)
	if err := n.Store.Peek(context.Background(), []core.Bucket{b}, out); err != nil {
		t.Fatal(err)
	}
	return out[0].Remaining
}

// With the breaker closed, when the failure is found out by the check itself, and with it open.
func TestPartOfARequestIsDecidedLocally(t *testing.T) {
	for name, open := range map[string]bool{"breaker closed": false, "breaker open": true} {
		t.Run(name, func(t *testing.T) {
			n := &nodes{fake: newFake(), down: "b"}
			s := wrap(t, n)
			if open {
				for range 5 {
					take(t, s, at("b0", core.Local, 100, 1))
				}
				if !degraded(s, "b") || degraded(s, "a") {
					t.Fatalf("health: %+v", s.Health().Nodes)
				}
			}
			a, b, shadow := at("a1", core.Local, 10, 1), at("b1", core.Local, 2, 1), at("a2", core.Local, 10, 1)
			shadow.Shadow = true
			for range 2 {
				if out := take(t, s, a, b, shadow); !out[0].Charged || !out[1].Charged || sources(out) != "shared local shared" {
					t.Fatalf("admitted: %+v", out)
				}
			}
			out := take(t, s, a, b, shadow)
			if out[0].Charged || out[1].Charged || out[1].Admits || !out[0].Admits || out[0].Remaining != 8 {
				t.Errorf("refused by the local half: %+v", out)
			}
			if left := leftShared(t, n, a); left != 8 {
				t.Errorf("%d left in the shared store, want 8", left)
			}
			// The other way round: the shared store refuses, and the local half charges nothing.
			empty, other := at("a3", core.Local, 1, 1), at("b2", core.Local, 1, 1)
			take(t, s, empty)
			if out := take(t, s, empty, other); out[0].Admits || out[1].Charged {
				t.Errorf("refused by the shared store: %+v", out)
			}
			if out := take(t, s, other); !out[0].Charged {
				t.Errorf("the local half had charged a request that was refused: %+v", out)
			}
			closed := at("b3", core.Closed, 10, 1)
			if out := take(t, s, a, closed); out[0].Charged || out[1].Err == nil || leftShared(t, n, a) != 8 {
				t.Errorf("with a Closed level: %+v, %d left", out, leftShared(t, n, a))
			}
			if out := take(t, s, a, at("b4", core.Open, 10, 1)); !out[0].Charged || out[1].Err == nil || leftShared(t, n, a) != 7 {
				t.Errorf("with an Open level: %+v, %d left", out, leftShared(t, n, a))
			}
		})
	}
}

// A local bucket that is full again while the shared store was being asked does not admit a request for
// which the shared store was asked to charge nothing.
func TestLocalRefusalStands(t *testing.T) {
	n := &nodes{fake: newFake(), down: "b"}
	s := wrap(t, n)
	for range 5 {
		take(t, s, at("b0", core.Local, 100, 1))
	}
	a, b := at("a1", core.Local, 10, 1), at("b1", core.Local, 1, 1)
	b.Limit = core.Per(1, 200*time.Millisecond)
	take(t, s, b)
	n.mu.Lock()
	n.slow = 400 * time.Millisecond
	n.mu.Unlock()
	if out := take(t, s, a, b); out[0].Charged || out[1].Admits || out[1].Charged || leftShared(t, n, a) != 10 {
		t.Errorf("refused by the local half: %+v, %d left", out, leftShared(t, n, a))
	}
}

func TestChangesReachTheNodesThatAnswer(t *testing.T) {
	n := &nodes{fake: newFake(), down: "b"}
	s := wrap(t, n)
	for range 5 {
		take(t, s, at("b0", core.Local, 100, 1))
	}
	a, b := at("a1", core.Local, 10, 1), at("b1", core.Local, 10, 1)
	if err := s.Debit(t.Context(), []core.Bucket{b, a}); err != nil {
		t.Fatal(err)
	}
	if left := leftShared(t, n, a); left != 9 || leftShared(t, n, b) != 10 {
		t.Errorf("%d left of the node that answers, want 9; %d of the other, want 10", left, leftShared(t, n, b))
	}
	out := take(t, s, b, a)
	if out[0].Remaining != 8 || out[1].Remaining != 8 {
		t.Errorf("after a debit in both halves: %+v", out)
	}
	if err := s.Refund(t.Context(), []core.Bucket{b, a}, out); err != nil {
		t.Fatal(err)
	}
	if out := take(t, s, b, a); out[0].Remaining != 8 || out[1].Remaining != 8 {
		t.Errorf("after a refund in both halves: %+v", out)
	}
	if err := s.Reset(t.Context(), []core.Bucket{b, a}); err == nil || leftShared(t, n, a) != 10 {
		t.Errorf("reset: error %v, %d left where it was possible, want 10 and an error", err, leftShared(t, n, a))
	}
}

// What a request met is counted once a node, whatever the number of its buckets there.
func TestPartialFailureIsCountedOnceANode(t *testing.T) {
	n := &nodes{fake: newFake(), down: "b"}
	s := wrap(t, n)
	for range 4 {
		take(t, s, at("a1", core.Local, 100, 1), at("b1", core.Local, 100, 1), at("b2", core.Local, 100, 1), at("b3", core.Local, 100, 1))
	}
	if degraded(s, "b") || s.Health().Failures.Store != 4 || s.Health().LocalDecisions != 4 {
		t.Errorf("after 4 requests: %+v", s.Health())
	}
	take(t, s, at("a1", core.Local, 100, 1), at("b1", core.Local, 100, 1))
	if !degraded(s, "b") || degraded(s, "a") {
		t.Errorf("after 5 requests: %+v", s.Health())
	}
}

// Another node has the keys of one that failed: nothing is asked there, its breaker is forgotten.
func TestNodeWithoutKeysIsForgotten(t *testing.T) {
	n := &moved{fake: newFake(), at: "old"}
	var changes []fallback.Change
	done := make(chan fallback.Change, 8)
	s := wrap(t, n, fallback.WithOnChange(func(c fallback.Change) { done <- c }))
	n.fail(errors.New("gone"))
	for range 5 {
		take(t, s, at("a", core.Local, 100, 1))
	}
	changes = append(changes, <-done)
	n.move("new")
	select {
	case c := <-done:
		changes = append(changes, c)
	case <-time.After(3 * time.Second):
		t.Fatal("still degraded")
	}
	if !changes[0].Degraded || changes[1].Degraded || changes[1].Partition != "old" {
		t.Errorf("changes: %+v", changes)
	}
	eventually(t, "health without the old node", time.Second, func() bool { return len(s.Health().Nodes) == 0 })
}

// moved fails, and lives elsewhere when it is told to.
type moved struct {
	*fake
	at string
}

func (m *moved) move(to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = to
}

func (m *moved) Partition(string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}
