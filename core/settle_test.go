package core_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func settle(t testing.TB, d core.Decision, actual int64) {
	t.Helper()
	if err := d.Settle(ctx, actual); err != nil {
		t.Fatalf("Settle(%d): %v", actual, err)
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
