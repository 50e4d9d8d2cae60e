package core_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func set(t testing.TB, l *core.Limiter, p core.Policy, opts ...core.Option) {
	t.Helper()
	if err := l.SetPolicy(p, opts...); err != nil {
		t.Fatal(err)
	}
}

func TestNewPolicyKeepsWhatIsOwed(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerMinute(10))})
	admitted(l, user("u"), 10)
	set(t, l, core.Policy{core.PerUser(core.PerMinute(60))})
	if d := l.Check(ctx, user("u")); d.Allowed || d.RetryAfter != time.Second || d.Limit.Quota != 60 {
		t.Errorf("an exhausted bucket under a higher rate: %+v, want one second to wait", d)
	}
	c.advance(time.Second)
	if !l.Check(ctx, user("u")).Allowed {
		t.Error("the higher rate does not help at once")
	}
}

func TestLoweringLocksNobodyOut(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerHour(3600))})
	admitted(l, user("u"), 3600) // an hour of debt
	set(t, l, core.Policy{core.PerUser(core.PerHour(3600).WithBurst(5))})
	d := l.Check(ctx, user("u"))
	if d.Allowed || d.RetryAfter != time.Second {
		t.Errorf("%+v, want the wait of one unit", d)
	}
	c.advance(5 * time.Second) // the new time to full
	if got := admitted(l, user("u"), 10); got != 5 {
		t.Errorf("%d admitted after the new time to full, want 5", got)
	}
	// What was forgiven stays forgiven.
	set(t, l, core.Policy{core.PerUser(core.PerHour(3600))})
	if got := left(t, l, user("u"), "user"); got != 3595 {
		t.Errorf("%d left after raising it again, want 3595", got)
	}
}

// Whatever limits follow one another, nobody waits longer than the last one takes to fill, and
// after that the bucket is full.
func TestAnyChangeIsForgottenAfterTheTimeToFull(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 5))
	for range 300 {
		l, c := limiting(t, core.Policy{core.PerUser(core.PerHour(1 + rng.Int64N(5000)).WithBurst(1 + rng.Int64N(5000)))})
		var last core.Limit
		for range 5 {
			l.Check(ctx, cost(user("u"), 1+rng.Int64N(5000)))
			c.advance(time.Duration(rng.Int64N(int64(time.Minute))))
			last = core.PerHour(1 + rng.Int64N(5000)).WithBurst(1 + rng.Int64N(5000))
			set(t, l, core.Policy{core.PerUser(last)})
		}
		full := time.Duration(last.Burst) * (time.Hour/time.Duration(last.Quota) + 1)
		if d := l.Check(ctx, cost(user("u"), last.Burst)); d.RetryAfter > full {
			t.Fatalf("seed %d: wait of %v under %v", seed, d.RetryAfter, last)
		}
		c.advance(full)
		if got := left(t, l, user("u"), "user"); got != last.Burst {
			t.Fatalf("seed %d: %d left of %v", seed, got, last)
		}
	}
}

func TestOtherPeriodOrAlgorithmStartsClean(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerMinute(10))})
	admitted(l, user("u"), 10)
	set(t, l, core.Policy{core.PerUser(core.PerHour(10))})
	if got := left(t, l, user("u"), "user"); got != 10 {
		t.Errorf("%d left, want 10", got)
	}
}

func TestNewPolicyReplacesRoutesAndKeepsOptions(t *testing.T) {
	seen := 0
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(10))}, core.WithRoute("GET /a", core.Exempt), core.WithName("shop"),
		core.WithHeaders(core.XRateLimitDelta), core.WithIPv6Prefix(48), core.WithObserver(func(core.Decision) { seen++ }))
	set(t, l, core.Policy{core.PerIP(core.PerHour(20)), core.PerUser(core.PerHour(5))}, core.WithRoute("GET /b", core.Exempt))
	sameParts(t, "an old route", parts(l, at("GET /a")), map[string]int64{"ip": 20, "user": 5})
	sameParts(t, "a new route", parts(l, at("GET /b")), nil)
	d := l.Check(ctx, from("2001:db8:1:1::1"))
	equal(t, "header format", lines(d)[:1], []string{"X-RateLimit-Limit: 20"})
	if l.Check(ctx, from("2001:db8:1:2::1")); left(t, l, from("2001:db8:1:3::1"), "ip") != 18 {
		t.Error("the prefix length is forgotten")
	}
	if seen != 2 {
		t.Errorf("the observer saw %d decisions, want 2: Peek is not one", seen)
	}
	set(t, l, core.Policy{core.PerIP(core.PerHour(20))}, core.WithHeaders(core.RateLimit))
	equal(t, "new header format", lines(l.Peek(ctx, from("2001:db8:1:1::1")))[:1], []string{`RateLimit-Policy: "ip";q=20;w=3600`})
}

func TestNameCannotChangeAtRunTime(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(10))}, core.WithName("shop"))
	for _, name := range []string{"other", "shop"} {
		if err := l.SetPolicy(core.Policy{core.PerIP(core.PerHour(20))}, core.WithName(name)); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("WithName(%q): %v", name, err)
		}
	}
	if got := left(t, l, from("192.0.2.1"), "ip"); got != 10 {
		t.Errorf("the refused policy is in force: %d left", got)
	}
	set(t, l, core.Policy{core.PerIP(core.PerHour(20))}) // and the next one is not refused
}

func TestPolicyIsCopied(t *testing.T) {
	limits := []core.Limit{core.PerHour(1)}
	p := core.Policy{core.PerUser(limits...)}
	route := core.Policy{core.PerIP(core.PerHour(1))}
	l, _ := limiting(t, p, core.WithRoute("GET /a", route))
	limits[0], p[0], route[0] = core.PerHour(100), core.Global(core.Unlimited), core.Global(core.Unlimited)
	if got := admitted(l, at("GET /a"), 3); got != 1 {
		t.Errorf("%d admitted, want 1", got)
	}
}

func TestDerivedLimitersCountOnTheirOwn(t *testing.T) {
	s, _ := memory(t)
	p := core.Policy{core.PerUser(core.PerHour(5))}
	base := limiter(t, s, p, core.WithName("shop"), core.WithRoute("GET /free", core.Exempt), core.WithHeaders(core.XRateLimitDelta))
	derive := func(from *core.Limiter) *core.Limiter {
		l, err := from.With(p)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one := derive(base)
	two := derive(base)
	deep := derive(one)
	for _, l := range []*core.Limiter{base, one, two, deep} {
		if got := admitted(l, user("u"), 10); got != 5 {
			t.Errorf("%d admitted, want 5 of its own", got)
		}
		equal(t, "format", lines(l.Peek(ctx, user("u")))[:1], []string{"X-RateLimit-Limit: 5"})
	}
	if d := one.Check(ctx, core.Request{User: "u", Endpoint: "GET /free"}); d.Allowed {
		t.Error("the route's exemption is inherited")
	}
	// Replicas that derive in the same order share.
	replica := derive(limiter(t, s, p, core.WithName("shop")))
	if replica.Check(ctx, user("u")).Allowed {
		t.Error("the first derived limiter of a replica has its own bucket")
	}
}

func TestObserversOfSetPolicyTakeThePlaceOfThoseBefore(t *testing.T) {
	policy, seen := core.Policy{core.PerUser(core.PerHour(100))}, 0
	opts := []core.Option{core.WithObserver(func(core.Decision) { seen++ }), core.WithObserver(func(core.Decision) { seen++ })}
	s, _ := memory(t)
	l := limiter(t, s, policy, opts...)
	for range 3 {
		if err := l.SetPolicy(policy, opts...); err != nil {
			t.Fatal(err)
		}
	}
	l.Check(ctx, user("u"))
	if seen != 2 {
		t.Errorf("observed %d times, want by each of the two", seen)
	}
	if err := l.SetPolicy(policy); err != nil {
		t.Fatal(err)
	}
	if l.Check(ctx, user("u")); seen != 4 {
		t.Errorf("observed %d times, want the observers kept where none is given", seen)
	}
}
