package core_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func refund(t testing.TB, d core.Decision) {
	t.Helper()
	if err := d.Refund(ctx); err != nil {
		t.Fatalf("Refund: %v", err)
	}
}

func TestRefundGivesEveryLevelItsChargeBackOnce(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(100)), core.PerUser(core.PerHour(50)), core.PerEndpoint(core.PerHour(10))})
	r := cost(at("GET /"), 4)
	l.Check(ctx, r)
	d := l.Check(ctx, r)
	copied := d
	refund(t, d)
	for _, again := range []core.Decision{d, copied} {
		refund(t, again)
		settle(t, again, 0)
		settle(t, again, 10)
	}
	if got := parts(l, r); got["ip"] != 100 {
		t.Fatal(got)
	}
	for name, want := range map[string]int64{"ip": 96, "user": 46, "endpoint": 6} {
		if got := left(t, l, r, name); got != want {
			t.Errorf("level %s: %d left, want %d: one charge and one given back", name, got, want)
		}
	}
}

// Two goroutines give back the same decisions one after another. Who comes first has more to do, so
// that the other keeps up and they meet over and over.
func TestConcurrentRefundsActOnce(t *testing.T) {
	const n = 5000
	for range 20 {
		s := scripted()
		l := limiter(t, s, core.Policy{core.PerKey("a", fixed, core.PerHour(10))})
		decisions := make([]core.Decision, n)
		for i := range decisions {
			decisions[i] = l.Check(ctx, core.Request{})
		}
		var ready atomic.Int32
		var all sync.WaitGroup
		for _, giveBack := range []func(core.Decision){func(d core.Decision) { _ = d.Refund(ctx) }, func(d core.Decision) { _ = d.Settle(ctx, 3) }} {
			all.Go(func() {
				ready.Add(1)
				for ready.Load() < 2 {
					runtime.Gosched()
				}
				for _, d := range decisions {
					giveBack(d)
				}
			})
		}
		all.Wait()
		if got := len(s.asked()) - n; got != n {
			t.Fatalf("%d decisions were refunded or settled %d times", n, got)
		}
	}
}

func TestRefundNeverExceedsWhatTimeHasLeft(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerMinute(60))})
	d := l.Check(ctx, cost(user("u"), 10))
	c.advance(4 * time.Second)
	refund(t, d)
	if got := left(t, l, user("u"), "user"); got != 60 {
		t.Errorf("%d left, want a full bucket", got)
	}
	if got := admitted(l, user("u"), 100); got != 60 {
		t.Errorf("%d admitted after the refund, want the capacity", got)
	}
	// Ten units, of which time has given back all: what another request pays now is its own.
	l, c = limiting(t, core.Policy{core.PerUser(core.PerMinute(60))})
	d = l.Check(ctx, cost(user("u"), 10))
	c.advance(10 * time.Second)
	l.Check(ctx, cost(user("u"), 7))
	refund(t, d)
	if got := left(t, l, user("u"), "user"); got != 53 {
		t.Errorf("%d left, want 53: another's charge was given back", got)
	}
	// Half of it paid by time, another's charge behind it.
	l, c = limiting(t, core.Policy{core.PerUser(core.PerMinute(60))})
	d = l.Check(ctx, cost(user("u"), 10))
	l.Check(ctx, cost(user("u"), 7))
	c.advance(6 * time.Second)
	refund(t, d)
	if got := left(t, l, user("u"), "user"); got != 53 {
		t.Errorf("%d left, want 53", got)
	}
}

// A decision of an older policy gives back what it charged, and forgives nothing on the way.
func TestRefundAfterAChangeOfPolicyForgivesNothing(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.Global(core.PerMinute(60).WithBurst(10))})
	old := l.Check(ctx, core.Request{})
	set(t, l, core.Policy{core.Global(core.PerMinute(60).WithBurst(1000))})
	l.Check(ctx, core.Request{Cost: 900})
	refund(t, old)
	if got := left(t, l, core.Request{}, "global"); got != 100 {
		t.Errorf("%d left of 1000 after 1 and 900 were charged and 1 given back, want 100", got)
	}
}

// In any order of charges, refunds and time, a bucket never holds more than its capacity, and a
// refund never lifts it by more than its charge.
func TestRefundsAreBounded(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 6))
	for range 100 {
		l, c := limiting(t, core.Policy{core.PerUser(core.PerSecond(10).WithBurst(20))})
		type charge struct {
			d core.Decision
			n int64
		}
		var open []charge
		for range 60 {
			switch rng.IntN(3) {
			case 0:
				n := 1 + rng.Int64N(5)
				if d := l.Check(ctx, cost(user("u"), n)); d.Allowed {
					open = append(open, charge{d, n})
				}
			case 1:
				c.advance(time.Duration(rng.Int64N(int64(300 * ms))))
			case 2:
				if len(open) == 0 {
					continue
				}
				i := rng.IntN(len(open))
				before := left(t, l, user("u"), "user")
				refund(t, open[i].d)
				after := left(t, l, user("u"), "user")
				if after < before || after > before+open[i].n || after > 20 {
					t.Fatalf("seed %d: refund of %d took the bucket from %d to %d", seed, open[i].n, before, after)
				}
				open = slices.Delete(open, i, i+1)
			}
		}
	}
}
