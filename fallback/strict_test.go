package fallback_test

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func strict(l core.Limit) core.Level {
	level := core.PerUser(l)
	level.Strict = true
	return level
}

// strictly is a limiter over a real server, and a function that makes that forget what it counted.
func strictly(t *testing.T, p core.Policy) (l *core.Limiter, forget func()) {
	t.Helper()
	server := redistest.Start(t)
	store, err := fallback.New(redisstore.Must(server.Client(t), redisstore.WithBudget(time.Second), redisstore.WithDenyCache(0)))
	if err != nil {
		t.Fatal(err)
	}
	l, err = core.New(store, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, func() { server.Do(t, "FLUSHALL") }
}

func admittedOf(t *testing.T, l *core.Limiter, n int) (admitted int, last core.Decision) {
	t.Helper()
	for range n {
		if last = l.Check(context.Background(), core.Request{User: "ann"}); last.Allowed {
			admitted++
		}
	}
	return admitted, last
}

// A failover that loses what was counted must not let a caller have it twice from one replica.
func TestStrictOutlivesWhatTheSharedStoreForgets(t *testing.T) {
	t.Parallel()
	for _, a := range []core.Algorithm{core.TokenBucket, core.SlidingLog, core.FixedWindow} {
		l, forget := strictly(t, core.Policy{strict(core.PerDay(5).With(a)), core.Global(core.PerDay(100))})
		if n, d := admittedOf(t, l, 7); n != 5 || d.Source != core.FromShared {
			t.Errorf("%v: %d admitted, want 5; the last is %+v", a, n, d)
		}
		forget()
		n, d := admittedOf(t, l, 3)
		if n != 0 || d.Reason != core.Quota || d.Level != "user" || d.Source != core.FromLocal || d.RetryAfter <= 0 {
			t.Errorf("%v: %d admitted after the loss; the last is %+v", a, n, d)
		}
		for _, part := range l.Peek(context.Background(), core.Request{User: "bob"}).Levels() {
			if part.Level == "global" && part.Remaining != 100 {
				t.Errorf("%v: %d left of 100 at the global level, want what was refused given back", a, part.Remaining)
			}
		}
	}
}

// In an outage too: what the local half charged for a request that the whole limit refuses is given back there.
func TestStrictGivesBackWhatTheLocalHalfCharged(t *testing.T) {
	t.Parallel()
	shared := newSettler()
	s := wrap(t, shared)
	other, held := at("other", core.Local, 100, 1), at("held", core.Local, 2, 1)
	held.Strict = true
	spend(t, s, held, 2)
	shared.forget(held)
	take(t, s, held) // the local half goes by what the shared store says now
	trip(t, s, shared)
	for range 5 {
		if out := take(t, s, other, held); out[0].Charged || out[1].Admits || out[1].Charged {
			t.Fatalf("%+v, want a refusal by the whole limit", out)
		}
	}
	out := make([]core.Outcome, 1)
	if err := s.Peek(t.Context(), []core.Bucket{other}, out); err != nil || out[0].Remaining != 100 {
		t.Errorf("%d left of 100 (%v): refusals were charged", out[0].Remaining, err)
	}
	comeBack(t, s, shared)
	if n := shared.left(other); n != 100 {
		t.Errorf("%d left of 100 in the shared store", n)
	}
}

func TestLooseForgetsWithTheSharedStore(t *testing.T) {
	t.Parallel()
	l, forget := strictly(t, core.Policy{core.PerUser(core.PerDay(5))})
	admittedOf(t, l, 7)
	forget()
	if n, _ := admittedOf(t, l, 7); n != 5 {
		t.Errorf("%d admitted after the loss, want 5: the test above would prove nothing", n)
	}
}

func TestStrictGivesBackWhatIsRefunded(t *testing.T) {
	t.Parallel()
	l, _ := strictly(t, core.Policy{strict(core.PerDay(2).With(core.SlidingLog))})
	for range 6 {
		d := l.Check(context.Background(), core.Request{User: "ann"})
		if !d.Allowed {
			t.Fatalf("refused though everything was given back: %+v", d)
		}
		if err := d.Refund(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	admittedOf(t, l, 3)
	if err := l.Reset(context.Background(), core.Request{User: "ann"}); err != nil {
		t.Fatal(err)
	}
	if n, _ := admittedOf(t, l, 3); n != 2 {
		t.Errorf("%d admitted after a reset, want 2", n)
	}
}

func TestStrictWantsAStoreThatHoldsItInProcess(t *testing.T) {
	t.Parallel()
	level := strict(core.PerDay(5))
	level.OnFailure = core.Closed
	s := redisstore.Must(redistest.Start(t).Client(t))
	if _, err := core.New(s, core.Policy{level}); err == nil {
		t.Error("a store that holds nothing in process takes a strict level")
	}
	_ = s.Close()
}

// What is told to be left is what both will admit.
func TestStrictTellsTheSmallerOfBoth(t *testing.T) {
	t.Parallel()
	l, forget := strictly(t, core.Policy{strict(core.PerDay(5))})
	admittedOf(t, l, 3)
	forget()
	if _, d := admittedOf(t, l, 1); d.Remaining != 1 || d.Source != core.FromShared {
		t.Errorf("after 4 of 5, of which the shared store knows one: %d left, from %v", d.Remaining, d.Source)
	}
}
