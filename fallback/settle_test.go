package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/fallback"
)

// trip makes the breaker open by requests of a bucket of its own: what is admitted before it has opened may
// have been charged, and is left out.
func trip(t *testing.T, s core.Store, shared *settler) {
	t.Helper()
	shared.fail(errDown)
	spend(t, s, at("trip", core.Local, 1_000_000, 1), 5)
}

func comeBack(t *testing.T, s *fallback.Store, shared *settler) {
	t.Helper()
	shared.fail(nil)
	eventually(t, "back", 5*time.Second, func() bool { return !s.Health().Degraded })
}

func TestWhatWasAdmittedLocallyIsChargedOnReturn(t *testing.T) {
	for name, c := range map[string]struct {
		opts          []fallback.Option
		before, after int64 // left in the shared store
		admitted      int
	}{
		"alone":      {nil, 90, 60, 30},
		"of four":    {[]fallback.Option{fallback.WithReplicas(4)}, 90, 68, 22},
		"after some": {nil, 40, 10, 30},
	} {
		t.Run(name, func(t *testing.T) {
			shared := newSettler()
			s := wrap(t, shared, c.opts...)
			b := at("b", core.Local, 100, 1)
			spend(t, s, b, int(100-c.before))
			trip(t, s, shared)
			if n := spend(t, s, b, 30); n != c.admitted {
				t.Fatalf("%d admitted locally, want %d", n, c.admitted)
			}
			comeBack(t, s, shared)
			if n := shared.left(b); n != c.after {
				t.Errorf("%d left in the shared store, want %d", n, c.after)
			}
			if h := s.Health(); h.Settled != 1 || h.Unsettled != 0 {
				t.Errorf("%d buckets settled, %d not; want 1 and 0", h.Settled, h.Unsettled)
			}
		})
	}
}

// Refunds count, and what a request was charged that waited for the shared store does not.
func TestOnlyWhatIsSpentForSureIsCharged(t *testing.T) {
	shared := newSettler()
	s := wrap(t, shared)
	b := at("b", core.Local, 100, 1)
	shared.fail(errDown)
	spend(t, s, b, 5) // these fail, and open the breaker
	if !s.Health().Degraded {
		t.Fatal("the breaker has not opened")
	}
	spend(t, s, b, 10)
	out := take(t, s, b)
	if err := s.Refund(t.Context(), []core.Bucket{b}, out); err != nil {
		t.Fatal(err)
	}
	comeBack(t, s, shared)
	if units, _ := shared.seen(); units != 10 {
		t.Errorf("%d charged, want the 10 that were admitted while the breaker was open", units)
	}
}

// A request may wait for the shared store until long after the breaker has opened.
func TestWhatWaitedIsNotChargedThoughTheBreakerHasOpened(t *testing.T) {
	shared := newSettler()
	s := wrap(t, shared)
	b, dear := at("b", core.Local, 100, 1), at("b", core.Local, 100, 30)
	shared.slowDown(300 * time.Millisecond)
	shared.fail(errDown)
	waited := make(chan core.Outcome)
	go func() {
		out := make([]core.Outcome, 1)
		_ = s.Take(context.Background(), []core.Bucket{dear}, out)
		waited <- out[0]
	}()
	time.Sleep(50 * time.Millisecond)
	shared.slowDown(0)
	trip(t, s, shared)
	spend(t, s, b, 10)
	if o := <-waited; !o.Charged || o.Source != core.FromLocal || o.Remaining != 60 {
		t.Fatalf("%+v, want a local decision", o)
	}
	comeBack(t, s, shared)
	if units, _ := shared.seen(); units != 10 {
		t.Errorf("%d charged, want the 10 that did not wait", units)
	}
}

// While the last of an outage is settled, the shared store decides already.
func TestWhatIsDecidedWhileItIsSettledIsChargedOnce(t *testing.T) {
	shared := newSettler()
	s := wrap(t, shared)
	b := at("b", core.Local, 100, 1)
	trip(t, s, shared)
	spend(t, s, b, 10)
	comeBack(t, s, shared)
	if n := spend(t, s, b, 20); n != 20 {
		t.Fatalf("%d admitted, want 20", n)
	}
	time.Sleep(100 * time.Millisecond)
	if n := shared.left(b); n != 70 {
		t.Errorf("%d left in the shared store, want 70", n)
	}
}

// A recovery that fails half-way is made again, and charges nothing twice. No request is decided by the shared
// store before that.
func TestARecoveryThatFailsHalfWay(t *testing.T) {
	for name, refuse := range map[string]func(call int) (bool, error){
		"replies lost":      func(call int) (bool, error) { return true, fails(call <= 3) },
		"never arrived":     func(call int) (bool, error) { return call > 3, fails(call <= 3) },
		"second batch":      func(call int) (bool, error) { return call != 2, fails(call == 2) },
		"second reply lost": func(call int) (bool, error) { return true, fails(call == 2) },
	} {
		t.Run(name, func(t *testing.T) {
			shared := newSettler()
			shared.refuse = refuse
			s := wrap(t, shared)
			trip(t, s, shared)
			buckets := make([]core.Bucket, 2500)
			for i := range buckets {
				buckets[i] = at(fmt.Sprint("b", i), core.Local, 100, 10)
				take(t, s, buckets[i])
			}
			comeBack(t, s, shared)
			if units, calls := shared.seen(); units != 25_000 || calls < 4 {
				t.Errorf("%d units charged in %d calls, want 25000 in 4 at least", units, calls)
			}
			for i := range buckets {
				if n := shared.left(buckets[i]); n != 90 {
					t.Fatalf("%d left of bucket %d, want 90", n, i)
				}
			}
			if h := s.Health(); h.Settled != 2500 || h.Unsettled != 0 {
				t.Errorf("%d buckets settled, %d not; want 2500 and 0", h.Settled, h.Unsettled)
			}
		})
	}
}

func fails(yes bool) error {
	if yes {
		return errDown
	}
	return nil
}

// Nobody finds what was admitted in an outage in the shared store because there is too much to charge it all
// before the breaker closes.
func TestWhatIsNotChargedYetIsNotAdmittedAgain(t *testing.T) {
	shared, gate := newSettler(), make(chan struct{})
	shared.refuse = func(call int) (bool, error) {
		if call == 1 {
			time.Sleep(600 * time.Millisecond) // longer than the breaker waits
		} else {
			<-gate
		}
		return true, nil
	}
	s := wrap(t, shared)
	trip(t, s, shared)
	buckets := make([]core.Bucket, 2500)
	for i := range buckets {
		buckets[i] = at(fmt.Sprint("b", i), core.Local, 1, 1)
		take(t, s, buckets[i])
	}
	comeBack(t, s, shared)
	time.Sleep(50 * time.Millisecond) // what comes after the breaker has closed
	again := 0
	for i := range buckets {
		if take(t, s, buckets[i])[0].Charged {
			again++
		}
	}
	close(gate)
	if again > 0 {
		t.Errorf("%d of 2500 admitted again", again)
	}
	eventually(t, "settlement", 5*time.Second, func() bool { return s.Health().Settled == 2500 })
	if units, _ := shared.seen(); units != 2500 {
		t.Errorf("%d units charged, want 2500", units)
	}
}

// A charge that is refused for what it is would be refused for ever: it is given up, and counted.
func TestAChargeThatIsRefusedHoldsUpNobody(t *testing.T) {
	shared := newSettler()
	shared.refuse = func(int) (bool, error) {
		return false, &core.StoreError{Fault: core.FaultRequest, Err: errDown}
	}
	s := wrap(t, shared)
	trip(t, s, shared)
	take(t, s, at("b", core.Local, 100, 10))
	comeBack(t, s, shared)
	eventually(t, "count", time.Second, func() bool { return s.Health().Unsettled == 1 })
}

// A store that comes back empty is charged what it had known, too: this replica's share of it.
func TestAStoreThatHasForgottenIsTold(t *testing.T) {
	for name, forgets := range map[string]bool{"keeps its data": false, "comes back empty": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := newSettler()
			s := wrap(t, shared)
			b := at("b", core.Local, 100, 1)
			spend(t, s, b, 60)
			eventually(t, "witness", 5*time.Second, shared.testified)
			for want := range 3 {
				trip(t, s, shared)
				if n := spend(t, s, b, 10); n != 10 {
					t.Fatalf("%d admitted locally, want 10", n)
				}
				if forgets {
					shared.forget(b)
				}
				comeBack(t, s, shared)
				if n := shared.left(b); n != int64(30-10*want) {
					t.Errorf("outage %d: %d left, want %d", want, n, 30-10*want)
				}
				time.Sleep(50 * time.Millisecond) // what comes after the breaker has closed
				spend(t, s, at("c", core.Local, 100, 1), 1)
			}
		})
	}
}

// What a store that has come back empty had known is charged once, though the charge fails at first.
func TestAStoreThatHasForgottenIsToldOnce(t *testing.T) {
	for name, refuse := range map[string]func(call int) (bool, error){
		"replies lost":  func(call int) (bool, error) { return true, fails(call <= 2) },
		"never arrived": func(call int) (bool, error) { return call > 2, fails(call <= 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := newSettler()
			shared.refuse = refuse
			s, b := outageAfter(t, shared, 20, 10)
			shared.forget(b)
			comeBack(t, s, shared)
			if units, calls := shared.seen(); units != 30 || calls < 3 || shared.left(b) != 70 {
				t.Errorf("%d units charged in %d calls, %d left; want 30 in 3 at least, 70 left", units, calls, shared.left(b))
			}
		})
	}
}

// A store may lose its memory between two attempts to charge it: before the first, or again.
func TestAStoreThatForgetsWhileItIsCharged(t *testing.T) {
	for name, before := range map[string]bool{"at first": false, "again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := newSettler()
			var works atomic.Bool
			shared.refuse = func(int) (bool, error) { return true, fails(!works.Load()) }
			s, b := outageAfter(t, shared, 20, 10)
			if before {
				shared.forget(b)
			}
			shared.fail(nil)
			eventually(t, "an attempt", 5*time.Second, func() bool { _, calls := shared.seen(); return calls > 0 })
			shared.fail(errDown)
			shared.forget(b)
			works.Store(true)
			comeBack(t, s, shared)
			if n := shared.left(b); n != 70 {
				t.Errorf("%d left, want 70", n)
			}
			if h := s.Health(); h.Settled != 1 || h.Unsettled != 0 {
				t.Errorf("%d buckets settled, %d not; want 1 and 0", h.Settled, h.Unsettled)
			}
		})
	}
}

// outageAfter spends some of a bucket, and then some more in an outage, which lasts.
func outageAfter(t *testing.T, shared *settler, before, during int) (*fallback.Store, core.Bucket) {
	t.Helper()
	s := wrap(t, shared)
	b := at("b", core.Local, 100, 1)
	spend(t, s, b, before)
	eventually(t, "witness", 5*time.Second, shared.testified)
	trip(t, s, shared)
	if n := spend(t, s, b, during); n != during {
		t.Fatalf("%d admitted locally, want %d", n, during)
	}
	return s, b
}

// Only what the failed node's buckets were charged locally is charged there.
func TestOnlyTheFailedNodeIsSettled(t *testing.T) {
	shared := newSettler()
	n := &settlingNodes{nodes: &nodes{fake: shared.fake, down: "b"}, settler: shared}
	s := wrap(t, n)
	a, b := at("a", core.Local, 100, 1), at("b", core.Local, 100, 1)
	spend(t, s, at("b-trip", core.Local, 1000, 1), 5)
	if !degraded(s, "b") || degraded(s, "a") {
		t.Fatal("node b is not the one that is degraded")
	}
	for range 10 {
		take(t, s, a, b)
	}
	n.heal()
	eventually(t, "back", 5*time.Second, func() bool { return !s.Health().Degraded })
	if left, lefta := shared.left(b), shared.left(a); left != 90 || lefta != 90 {
		t.Errorf("%d left of the failed node's and %d of the other's, want 90 each", left, lefta)
	}
	if units, _ := shared.seen(); units != 10 {
		t.Errorf("%d units settled, want 10", units)
	}
}

// A node whose charge hangs, or fails, holds up no other.
func TestNodesAreSettledApart(t *testing.T) {
	for name, hangs := range map[string]bool{"hangs": true, "fails": false} {
		t.Run(name, func(t *testing.T) {
			shared := newSettler()
			n := &settlingNodes{nodes: &nodes{fake: shared.fake}, settler: shared, broken: "b", gate: make(chan struct{})}
			if !hangs {
				close(n.gate)
			}
			s := wrap(t, n)
			shared.fail(errDown)
			spend(t, s, at("b-trip", core.Local, 1000, 1), 5)
			spend(t, s, at("a-trip", core.Local, 1000, 1), 5)
			a, b := at("a", core.Local, 100, 1), at("b", core.Local, 100, 1)
			spend(t, s, b, 10)
			spend(t, s, a, 10)
			shared.fail(nil)
			eventually(t, "node a is back", 2*time.Second, func() bool { return !degraded(s, "a") })
			if left := shared.left(a); left != 90 || !degraded(s, "b") {
				t.Errorf("%d left, want 90; node b is degraded: %v", left, degraded(s, "b"))
			}
			n.mend()
			if hangs {
				close(n.gate)
			}
			eventually(t, "node b is back", 5*time.Second, func() bool { return !degraded(s, "b") })
			if left := shared.left(b); left != 90 {
				t.Errorf("%d left of node b's, want 90", left)
			}
		})
	}
}

// settlingNodes are nodes that can be charged once; a broken one waits for the gate and then fails.
type settlingNodes struct {
	*nodes
	settler *settler
	gate    chan struct{}
	mu      sync.Mutex
	broken  string
}

func (n *settlingNodes) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = ""
}

func (n *settlingNodes) DebitOnce(ctx context.Context, id string, owed []core.Owed) error {
	n.mu.Lock()
	broken := n.broken == owed[0].Bucket.Key[:1]
	n.mu.Unlock()
	if broken {
		<-n.gate
		return errDown
	}
	return n.settler.DebitOnce(ctx, id, owed)
}

// A bucket without room in the local half has nothing of its own that could be charged: what it shares with others
// is not its debt.
func TestWhatOthersSharedIsNotCharged(t *testing.T) {
	const room = 256
	shared := newSettler()
	s := wrap(t, shared, fallback.WithReplicas(1), fallback.WithLocalEntries(room))
	trip(t, s, shared)
	for i := range 40 * room {
		take(t, s, core.Bucket{Key: fmt.Sprint("filler", i), Limit: core.PerDay(1), Cost: 1, Level: "filler"})
	}
	victim, other := at("victim", core.Local, 100, 1), at("other", core.Local, 100, 99)
	victim.Level, other.Level = "user", "user"
	for _, b := range []core.Bucket{victim, other} {
		if !take(t, s, b)[0].Charged {
			t.Fatalf("%s is not admitted", b.Key)
		}
	}
	if take(t, s, victim)[0].Admits {
		t.Fatal("the two have a bucket each, want them to share one")
	}
	comeBack(t, s, shared)
	if h := s.Health(); h.Settled < room/2 {
		t.Errorf("%d buckets charged, want those with room", h.Settled)
	}
	for _, b := range []core.Bucket{victim, other} {
		if left := shared.left(b); left != 100 {
			t.Errorf("%d left of %s, want 100", left, b.Key)
		}
	}
}
