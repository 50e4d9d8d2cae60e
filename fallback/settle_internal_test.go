package fallback

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// lettered has a node for each first letter of its keys.
type lettered struct{ answers }

func (lettered) Partition(key string) string { return key[:1] }

// Of nodes that come back empty at the same time, each is charged once what it had known: a node's loss says nothing of
// another's buckets, though that may still have some to be charged.
func TestALossIsOfOneNode(t *testing.T) {
	s, err := New(lettered{answers{memstore.New()}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, key := range []string{"a1", "b1"} {
		b := core.Bucket{Key: key, Limit: core.PerHour(10), Cost: 5}
		local := s.scaled(&b)
		s.prepare(&b, &local, errDegraded)
		if err := s.local.Take(context.Background(), []core.Bucket{local}, make([]core.Outcome, 1)); err != nil {
			t.Fatal(err)
		}
	}
	s.draw(s.breaker("a"), true, false)
	s.draw(s.breaker("b"), true, false)
	s.draw(s.breaker("a"), false, true)
	s.draw(s.breaker("b"), false, true)
	for _, p := range []string{"a", "b"} {
		if n := len(s.settlement.queue(p).batches); n != 1 {
			t.Errorf("node %s is charged %d times", p, n)
		}
	}
	if n := s.ledger.size.Load(); n != 0 {
		t.Errorf("%d buckets are still noted", n)
	}
}

// What has been drawn is dropped for the whole debt only where that can still be told.
func TestALossDropsOnlyWhatIsDrawnAgain(t *testing.T) {
	s, err := New(answers{memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := core.Bucket{Key: "k", Limit: core.PerHour(10), Cost: 5}
	local := s.scaled(&b)
	s.prepare(&b, &local, errDegraded)
	if err := s.local.Take(context.Background(), []core.Bucket{local}, make([]core.Outcome, 1)); err != nil {
		t.Fatal(err)
	}
	node := s.breaker("")
	s.draw(node, false, false)
	s.draw(node, true, false)
	if q := s.settlement.queue(""); len(q.batches) != 1 || q.batches[0].owed[0].Time < 25*time.Minute {
		t.Fatalf("to be charged: %+v, want the whole debt once", q.batches)
	}
	if err := s.local.Reset(context.Background(), []core.Bucket{local}); err != nil {
		t.Fatal(err)
	}
	s.draw(node, true, false)
	if q := s.settlement.queue(""); len(q.batches) != 1 {
		t.Errorf("%d batches are to be charged, want the one of which no more is known", len(q.batches))
	}
}

// What has moved to another node that is out is charged when that is back.
func TestWhatHasMovedIsChargedWhereItIs(t *testing.T) {
	m := &moves{answers: answers{memstore.New()}, at: "x"}
	s, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := core.Bucket{Key: "k", Limit: core.PerHour(10), Cost: 5}
	local := s.scaled(&b)
	s.prepare(&b, &local, errDegraded)
	if err := s.local.Take(context.Background(), []core.Bucket{local}, make([]core.Outcome, 1)); err != nil {
		t.Fatal(err)
	}
	m.at = "y"
	s.breaker("y").degraded.Store(true)
	s.draw(s.breaker("x"), false, true)
	m.at = "z"
	if n := s.ledger.size.Load(); n != 1 {
		t.Fatalf("%d buckets are noted, want the one whose node is out", n)
	}
	s.draw(s.breaker("y"), false, true)
	if n := len(s.settlement.queue("z").batches); n != 1 || s.ledger.size.Load() != 0 {
		t.Errorf("the node where it is now is charged %d times, %d are still noted", n, s.ledger.size.Load())
	}
}

// moves has all its keys on one node.
type moves struct {
	answers
	at string
}

func (m *moves) Partition(string) string { return m.at }
