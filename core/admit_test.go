package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func TestSameLimiterTwiceChargesOnce(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(10))})
	outer, first := l.Admit(ctx, user("u"), 0)
	inner, second := l.Admit(outer, user("u"), 0)
	if !second.Allowed || second.Remaining != 9 || left(t, l, user("u"), "user") != 9 {
		t.Errorf("%+v after %+v", second, first)
	}
	equal(t, "headers", lines(second), lines(first))
	if d, ok := core.FromContext(inner); !ok || d.Remaining != 9 {
		t.Errorf("the handler finds %+v, %v", d, ok)
	}
	refund(t, first)
	refund(t, second)
	if got := left(t, l, user("u"), "user"); got != 10 {
		t.Errorf("%d left after one charge and one refund", got)
	}
	if _, again := l.Admit(ctx, user("u"), 0); again.Remaining != 9 {
		t.Error("another request is taken for the same")
	}
}

func TestTwoLimitersGiveOneHeaderSet(t *testing.T) {
	s, _ := memory(t)
	global := limiter(t, s, core.Policy{core.PerIP(core.PerHour(100))}, core.WithName("app"))
	route := limiter(t, s, core.Policy{core.PerIP(core.PerHour(10)), core.PerUser(core.PerHour(20))}, core.WithName("route"))
	c, _ := global.Admit(ctx, at(""), 0)
	c, d := route.Admit(c, at(""), 0)
	if d.Limit.Quota != 10 || d.Remaining != 9 || d.Level != "ip" {
		t.Errorf("%+v", d)
	}
	equal(t, "headers", lines(d), []string{
		`RateLimit-Policy: "ip";q=100;w=3600, "route:ip";q=10;w=3600, "route:user";q=20;w=3600`,
		`RateLimit: "ip";r=99;t=36, "route:ip";r=9;t=360, "route:user";r=19;t=180`,
	})
	if got, _ := core.FromContext(c); got.Level != "ip" || got.Limit.Quota != 10 {
		t.Errorf("the handler finds %+v", got)
	}
	// A third time round, both have decided.
	_, again := global.Admit(c, at(""), 0)
	equal(t, "headers of the repeat", lines(again), lines(d))
	if left(t, global, at(""), "ip") != 99 || left(t, route, at(""), "ip") != 9 {
		t.Error("the repeat has charged")
	}
}

// Formats that know one limit show the tightest of all limiters.
func TestOldFormatsShowTheTightestLimiter(t *testing.T) {
	s, _ := memory(t)
	for _, quotas := range [][2]int64{{100, 10}, {10, 100}} {
		name := map[int64]string{100: "a", 10: "b"}
		first := limiter(t, s, core.Policy{core.PerIP(core.PerHour(quotas[0]))}, core.WithName("first-"+name[quotas[0]]), core.WithHeaders(core.XRateLimitDelta))
		second := limiter(t, s, core.Policy{core.PerIP(core.PerHour(quotas[1]))}, core.WithName("second-"+name[quotas[1]]), core.WithHeaders(core.XRateLimitDelta))
		c, _ := first.Admit(ctx, at(""), 0)
		_, d := second.Admit(c, at(""), 0)
		equal(t, "headers", lines(d), []string{"X-RateLimit-Limit: 10", "X-RateLimit-Remaining: 9", "X-RateLimit-Reset: 360"})
	}
}

func TestDenialGivesEarlierLimitersTheirChargeBack(t *testing.T) {
	s, _ := memory(t)
	chain := []*core.Limiter{
		limiter(t, s, core.Policy{core.PerIP(core.PerHour(100))}, core.WithName("one")),
		limiter(t, s, core.Policy{core.PerUser(core.PerHour(50))}, core.WithName("two")),
		limiter(t, s, core.Policy{core.PerUser(core.PerHour(1))}, core.WithName("three")),
	}
	for i := range 3 {
		c, d := ctx, core.Decision{}
		for _, l := range chain {
			if c, d = l.Admit(c, at(""), 0); !d.Allowed {
				break
			}
		}
		if d.Allowed != (i == 0) {
			t.Fatalf("request %d: %+v", i, d)
		}
		if i > 0 {
			equal(t, "policies", lines(d)[:1], []string{`RateLimit-Policy: "ip";q=100;w=3600, "two:user";q=50;w=3600, "three:user";q=1;w=3600`})
			if retryAfter(t, d) != 3600 {
				t.Errorf("Retry-After %d", retryAfter(t, d))
			}
			want := `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["three:user"]}`
			if got := string(d.Problem()); got != want {
				t.Errorf("body %s", got)
			}
		}
	}
	if one, two := left(t, chain[0], at(""), "ip"), left(t, chain[1], at(""), "user"); one != 99 || two != 49 {
		t.Errorf("%d and %d left, want 99 and 49", one, two)
	}
	// Also when what comes later is invalid, or a store that failed.
	closed := core.PerUser(core.PerHour(1))
	closed.OnFailure = core.Closed
	for _, l := range []*core.Limiter{chain[2], limiter(t, failing(errAway), core.Policy{closed})} {
		c, _ := chain[0].Admit(ctx, at(""), 0)
		if _, d := l.Admit(c, cost(at(""), -1), 0); d.Allowed {
			t.Fatal("admitted")
		}
		c, _ = chain[0].Admit(ctx, at(""), 0)
		if _, d := l.Admit(c, at(""), 0); d.Allowed {
			t.Fatal("admitted")
		}
	}
	if one := left(t, chain[0], at(""), "ip"); one != 99 {
		t.Errorf("%d left, want 99", one)
	}
}

func TestAdmitWaitsOutADelayOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := admits(3, time.Second)
		slow.Delay = 700 * ms
		l := limiter(t, scripted(slow), core.Policy{core.PerKey("a", fixed, core.PerHour(5).With(core.LeakyBucket))})
		start := time.Now()
		c, d := l.Admit(ctx, core.Request{}, time.Second)
		if !d.Allowed || time.Since(start) != 700*ms {
			t.Errorf("%+v after %v", d, time.Since(start))
		}
		if _, d = l.Admit(c, core.Request{}, time.Second); !d.Allowed || d.Delay != 0 || time.Since(start) != 700*ms {
			t.Errorf("again: %+v after %v", d, time.Since(start))
		}
	})
}

// What is observed is what became of the request, not what its queue promised.
func TestObserversSeeWhatPaceMadeOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := admits(3, time.Second)
		slow.Delay = 700 * ms
		var seen []core.Decision
		start := time.Now()
		l := limiter(t, scripted(slow), core.Policy{core.PerKey("a", fixed, core.PerHour(5).With(core.LeakyBucket))}, core.WithObserver(func(d core.Decision) {
			seen = append(seen, d)
		}))
		c, _ := l.Admit(ctx, core.Request{}, time.Second)
		l.Admit(c, core.Request{}, time.Second) // it has been decided
		l.Admit(ctx, core.Request{}, 0)
		if len(seen) != 2 || !seen[0].Allowed || seen[1].Allowed || seen[1].Reason != core.Quota || seen[1].Level != "a" || time.Since(start) != 700*ms {
			t.Errorf("observed %+v", seen)
		}
	})
}

// A delay that is too long is a denial like any other: earlier limiters get their charge back.
func TestTooLongADelayGivesEverythingBack(t *testing.T) {
	slow := admits(3, time.Second)
	slow.Delay = 3 * time.Second
	store := scripted(slow)
	first, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(100))})
	second := limiter(t, store, core.Policy{core.PerKey("a", fixed, core.PerHour(5).With(core.LeakyBucket))}, core.WithName("two"))
	c, _ := first.Admit(ctx, at(""), time.Second)
	_, d := second.Admit(c, at(""), time.Second)
	if d.Allowed || d.Reason != core.Quota || retryAfter(t, d) != 2 || left(t, first, at(""), "ip") != 100 {
		t.Errorf("%+v, %d left", d, left(t, first, at(""), "ip"))
	}
	equal(t, "calls", store.asked(), []string{"Take 1", "Refund 1"})
}

func TestContextWithoutDecision(t *testing.T) {
	if d, ok := core.FromContext(ctx); ok || d.Allowed {
		t.Errorf("%+v, %v", d, ok)
	}
	want := core.Decision{Allowed: true, Level: "x"}
	if d, ok := core.FromContext(core.NewContext(ctx, want)); !ok || d != want {
		t.Errorf("%+v, %v", d, ok)
	}
}

// A decision's context is one like any other: it passes on values and the end of its parent.
func TestDecisionContextIsAContext(t *testing.T) {
	type key int
	parent, cancel := context.WithCancel(context.WithValue(ctx, key(1), "outer"))
	inner := core.NewContext(core.NewContext(parent, core.Decision{Level: "first"}), core.Decision{Level: "second"})
	child, stop := context.WithTimeout(context.WithValue(inner, key(2), "value"), time.Hour)
	defer stop()
	if d, ok := core.FromContext(child); !ok || d.Level != "second" {
		t.Errorf("%+v, %v", d, ok)
	}
	if child.Value(key(1)) != "outer" || child.Value(key(2)) != "value" || inner.Value(key(2)) != nil {
		t.Error("values are lost")
	}
	d, _ := core.FromContext(child)
	d.Level = "third"
	if kept, _ := core.FromContext(child); kept.Level != "second" {
		t.Error("a copy changes what the context has")
	}
	cancel()
	<-child.Done()
	if !errors.Is(child.Err(), context.Canceled) {
		t.Errorf("it ended with %v", child.Err())
	}
}

func TestARefusalTellsWhatIsLeftAfterTheGivingBack(t *testing.T) {
	s, _ := memory(t)
	outer := limiter(t, s, core.Policy{core.PerIP(core.PerHour(10))}, core.WithName("app"))
	inner := limiter(t, s, core.Policy{core.PerIP(core.PerHour(1))}, core.WithName("route"))
	for i, want := range []string{
		`RateLimit: "ip";r=9;t=360, "route:ip";r=0;t=3600`,
		`RateLimit: "ip";r=9;t=360, "route:ip";r=0;t=3600`,
	} {
		c, _ := outer.Admit(ctx, at(""), 0)
		_, d := inner.Admit(c, at(""), 0)
		if d.Allowed != (i == 0) || lines(d)[1] != want {
			t.Errorf("request %d: allowed %v, %q, want %s", i, d.Allowed, lines(d), want)
		}
	}
}

// A bucket that is full again has no next unit; what could not be given back stays shown as spent.
func TestARefusalTellsWhatTheStoreGaveBack(t *testing.T) {
	for failure, want := range map[error]string{nil: `"ip";r=10;t=0, `, errAway: `"ip";r=9;t=360, `} {
		outerStore, s := scripted(admits(9, 360*time.Second)), scripted(denies(0, time.Second, time.Second))
		outerStore.later = failure
		outer := limiter(t, outerStore, core.Policy{core.PerIP(core.PerHour(10))})
		inner := limiter(t, s, core.Policy{core.PerIP(core.PerHour(1))}, core.WithName("route"))
		c, _ := outer.Admit(ctx, at(""), 0)
		_, d := inner.Admit(c, at(""), 0)
		equal(t, "headers", lines(d)[1:2], []string{"RateLimit: " + want + `"route:ip";r=0;t=1`})
	}
}

// A limiter that is asked again around another one gives back its own charge, not the other's.
func TestARepeatedLimiterRefundsItsOwnCharge(t *testing.T) {
	s, _ := memory(t)
	a := limiter(t, s, core.Policy{core.PerIP(core.PerHour(10))}, core.WithName("a"))
	b := limiter(t, s, core.Policy{core.PerIP(core.PerHour(10))}, core.WithName("b"))
	c, _ := a.Admit(ctx, at(""), 0)
	c, _ = b.Admit(c, at(""), 0)
	_, again := a.Admit(c, at(""), 0)
	refund(t, again)
	if left(t, a, at(""), "ip") != 10 || left(t, b, at(""), "ip") != 9 {
		t.Errorf("a has %d left, b %d; want 10 and 9", left(t, a, at(""), "ip"), left(t, b, at(""), "ip"))
	}
}

// What was settled is not given back, so its number stays.
func TestASettledChargeIsNotTakenBack(t *testing.T) {
	s, _ := memory(t)
	outer := limiter(t, s, core.Policy{core.PerIP(core.PerHour(10))}, core.WithName("app"))
	inner := limiter(t, s, core.Policy{core.PerIP(core.BlockAll)}, core.WithName("route"))
	c, first := outer.Admit(ctx, at(""), 0)
	if err := first.Settle(ctx, 5); err != nil {
		t.Fatal(err)
	}
	_, d := inner.Admit(c, at(""), 0)
	if want := `RateLimit: "ip";r=9;t=360, "route:ip";r=0;t=0`; lines(d)[1] != want {
		t.Errorf("%q, want %s", lines(d), want)
	}
	if got := left(t, outer, at(""), "ip"); got != 5 {
		t.Errorf("%d left, want the 5 that were not settled", got)
	}
}
