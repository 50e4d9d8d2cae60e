package fallback_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/fallback"
)

// back is a replica of four whose shared store has just come back.
func back(t *testing.T) (*fallback.Store, *settler) {
	t.Helper()
	shared := newSettler()
	s := wrap(t, shared, fallback.WithReplicas(4))
	trip(t, s, shared)
	comeBack(t, s, shared)
	return s, shared
}

// What the others have admitted is not charged yet: until they have found the store too, a replica takes no
// more than its share.
func TestAfterAnOutageAReplicaKeepsToItsShareForAWhile(t *testing.T) {
	s, shared := back(t)
	b := at("b", core.Local, 100, 1)
	start, n := time.Now(), 0
	for range 25 {
		out := take(t, s, b)
		if out[0].Charged && out[0].Source != core.FromShared {
			t.Fatalf("%+v, want a decision of the shared store", out[0])
		}
		n++
	}
	if out := take(t, s, b); out[0].Charged || out[0].Source != core.FromLocal || time.Since(start) > time.Second {
		t.Errorf("beyond the share of 25: %+v", out[0])
	}
	if left := shared.left(b); left != 75 {
		t.Errorf("%d left in the shared store, want 75", left)
	}
	eventually(t, "end of the hand-over", 3*time.Second, func() bool { return take(t, s, b)[0].Charged })
	if took := time.Since(start); took < time.Second {
		t.Errorf("the share ended after %v", took)
	}
	if n = spend(t, s, b, 100); n != 74 {
		t.Errorf("%d admitted after it, want the 74 that are left", n)
	}
}

func TestHandingOverChargesAllOrNothing(t *testing.T) {
	s, shared := back(t)
	full, empty, closed := at("full", core.Local, 100, 1), at("empty", core.Local, 4, 1), at("closed", core.Closed, 1, 1)
	shadow := at("shadow", core.Closed, 1000, 1)
	shadow.Shadow = true
	take(t, s, empty)
	take(t, s, closed)
	for range 50 {
		// The local half refuses one: the shared store is charged nothing but what is in shadow.
		if out := take(t, s, full, empty, shadow); out[0].Charged || out[1].Charged || !out[2].Charged || out[1].Source != core.FromLocal {
			t.Fatalf("refused by the local half: %+v", out)
		}
		// The shared store refuses one: the local half gets its charge back.
		if out := take(t, s, full, closed); out[0].Charged || out[1].Admits {
			t.Fatalf("refused by the shared store: %+v", out)
		}
	}
	if left := shared.left(full); left != 100 {
		t.Errorf("%d left in the shared store, want 100", left)
	}
	if left := shared.left(shadow); left != 950 {
		t.Errorf("%d left of the level in shadow, want 950", left)
	}
	if n := spend(t, s, full, 30); n != 25 {
		t.Errorf("%d admitted, want all of the share: 25", n)
	}
}

// A store that fails again while it is handed over leaves a request charged once.
func TestAFailureWhileHandingOver(t *testing.T) {
	s, shared := back(t)
	b := at("b", core.Local, 100, 1)
	shared.fail(errDown)
	if n := spend(t, s, b, 30); n != 25 {
		t.Errorf("%d admitted, want the share of 25", n)
	}
}

func TestASingleReplicaWaitsForNobody(t *testing.T) {
	shared := newSettler()
	s := wrap(t, shared)
	trip(t, s, shared)
	comeBack(t, s, shared)
	time.Sleep(50 * time.Millisecond)
	b := at("b", core.Local, 100, 1)
	if out := take(t, s, b); out[0].Source != core.FromShared {
		t.Errorf("%+v", out[0])
	}
	if n := spend(t, s, b, 100); n != 99 {
		t.Errorf("%d admitted, want 99", n)
	}
}
