package core_test

import (
	"context"
	"errors"
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

func settle(t testing.TB, d core.Decision, actual int64) {
	t.Helper()
	if err := d.Settle(ctx, actual); err != nil {
		t.Fatalf("Settle(%d): %v", actual, err)
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

func TestConcurrentRefundsActOnce(t *testing.T) {
	for range 2000 {
		s := scripted()
		d := limiter(t, s, core.Policy{core.PerKey("a", fixed, core.PerHour(10))}).Check(ctx, core.Request{})
		var ready atomic.Int32
		var all sync.WaitGroup
		for i := range 2 {
			all.Go(func() {
				ready.Add(1)
				for ready.Load() < 2 { // both at one instant
					runtime.Gosched()
				}
				if i == 0 {
					_ = d.Refund(ctx)
				} else {
					_ = d.Settle(ctx, 3)
				}
			})
		}
		all.Wait()
		if got := s.asked(); len(got) != 2 {
			t.Fatalf("the store was asked %v, want one Take and one other", got)
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

func TestSettleChargesTheDifferenceOnce(t *testing.T) {
	for _, c := range []struct{ charged, actual, left int64 }{
		{10, 4, 96}, {10, 10, 90}, {10, 25, 75}, {10, 0, 100}, {10, 1 << 40, 0}, {0, 3, 97}, {100, 101, 0},
	} {
		l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(100)), core.PerIP(core.PerHour(1000))})
		r := cost(at("GET /"), c.charged)
		d := l.Check(ctx, r)
		settle(t, d, c.actual)
		settle(t, d, 50)
		refund(t, d)
		if got := left(t, l, r, "user"); got != c.left {
			t.Errorf("charged %d, actual %d: %d left, want %d", c.charged, c.actual, got, c.left)
		}
		if got, want := left(t, l, r, "ip"), max(1000-c.actual, 0); got != want {
			t.Errorf("charged %d, actual %d: the other level has %d left, want %d", c.charged, c.actual, got, want)
		}
	}
}

// A shadow that would have denied was not charged, and is not settled.
func TestSettleTouchesOnlyWhatWasCharged(t *testing.T) {
	s := scripted(denies(0, 1, 1), admits(5, 1))
	d := limiter(t, s, core.Policy{shadow(core.PerKey("a", fixed, core.PerHour(9))), core.PerKey("b", fixed, core.PerHour(9))}).Check(ctx, core.Request{})
	settle(t, d, 4)
	equal(t, "calls", s.asked(), []string{"Take 2", "Debit 1"})
	if b := s.buckets(t)[0]; b.Level != "b" || b.Cost != 3 {
		t.Errorf("debited %+v", b)
	}
}

func TestNegativeSettlementIsRefusedAndLeavesTheNextOne(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(100))})
	d := l.Check(ctx, cost(user("u"), 10))
	if d.Settle(ctx, -1) == nil {
		t.Error("a negative cost is settled")
	}
	settle(t, d, 3)
	if got := left(t, l, user("u"), "user"); got != 97 {
		t.Errorf("%d left, want 97", got)
	}
}

func TestWhatChargedNothingHasNothingToGiveBack(t *testing.T) {
	s := scripted(denies(0, 1, 1))
	l := limiter(t, s, core.Policy{core.PerKey("a", fixed, core.PerHour(1))}, core.WithRoute("GET /free", core.Exempt), core.WithRoute("GET /off", core.Policy{core.PerKey("a", fixed, core.BlockAll)}))
	for name, d := range map[string]core.Decision{
		"zero": {}, "denied": l.Check(ctx, core.Request{}), "exempt": l.Check(ctx, core.Request{Endpoint: "GET /free"}),
		"blocked": l.Check(ctx, core.Request{Endpoint: "GET /off"}), "peek": l.Peek(ctx, core.Request{}), "invalid": l.Check(ctx, core.Request{Cost: -1}),
	} {
		settle(t, d, 5)
		refund(t, d)
		if got := s.asked(); slices.ContainsFunc(got, func(c string) bool { return c != "Take 1" && c != "Peek 1" }) {
			t.Errorf("%s: store asked %v", name, got)
		}
	}
	failed := limiter(t, failing(errAway), core.Policy{core.PerKey("a", fixed, core.PerHour(1))}).Check(ctx, core.Request{})
	settle(t, failed, 5) // allowed, but nothing is known to be charged
	refund(t, failed)
}

// A client that left is the commonest reason to give back.
func TestRefundAndSettleOutliveTheRequest(t *testing.T) {
	gone, leave := context.WithCancel(ctx)
	s := scripted()
	var seen []error
	l := limiter(t, watching{s, &seen}, core.Policy{core.PerKey("a", fixed, core.PerHour(10))})
	decisions := []core.Decision{l.Check(gone, core.Request{}), l.Check(gone, core.Request{}), l.Check(gone, core.Request{Cost: 5})}
	leave()
	if err := errors.Join(decisions[0].Refund(gone), decisions[1].Settle(gone, 9), decisions[2].Settle(gone, 2)); err != nil {
		t.Error(err)
	}
	if len(seen) != 3 || errors.Join(seen...) != nil {
		t.Errorf("contexts of the store's calls: %v", seen)
	}
}

// watching notes whether the context of a later call had ended.
type watching struct {
	*script
	seen *[]error
}

func (w watching) Debit(ctx context.Context, b []core.Bucket) error {
	*w.seen = append(*w.seen, ctx.Err())
	return w.script.Debit(ctx, b)
}

func (w watching) Refund(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	*w.seen = append(*w.seen, ctx.Err())
	return w.script.Refund(ctx, b, out)
}

func TestFailedRefundStaysSpent(t *testing.T) {
	s := scripted()
	s.later = errAway
	d := limiter(t, s, core.Policy{core.PerKey("a", fixed, core.PerHour(10))}).Check(ctx, core.Request{})
	if err := d.Refund(ctx); !errors.Is(err, errAway) {
		t.Errorf("error is %v", err)
	}
	refund(t, d)
	if got := len(s.asked()); got != 2 {
		t.Errorf("the store was asked %d times, want 2", got)
	}
}
