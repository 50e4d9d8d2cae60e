package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// More tiers than are remembered, each met again when the memory is full, are told apart.
func TestTiersAreToldApart(t *testing.T) {
	tier := func(n int64) []core.Limit { return []core.Limit{core.PerMinute(100 + n), core.PerHour(1000 + n)} }
	var n int64
	l := limiter(t, scripted(), core.Policy{tiers(func(*core.Request) []core.Limit { return tier(n) })})
	for range 2 {
		for n = range 40 {
			equal(t, fmt.Sprintf("tier %d", n), lines(l.Check(ctx, user("ann")))[:1], []string{
				fmt.Sprintf(`RateLimit-Policy: "user";q=%d;w=60, "user-2";q=%d;w=3600`, 100+n, 1000+n),
			})
		}
	}
}

// A service may well change the slice that it returned.
func TestTiersAreCopied(t *testing.T) {
	limits := []core.Limit{core.PerMinute(100)}
	s := scripted()
	l := limiter(t, s, core.Policy{tiers(func(*core.Request) []core.Limit { return limits })})
	for _, want := range []core.Limit{core.PerMinute(100), core.PerMinute(200), core.PerMinute(100)} {
		limits[0] = want
		d := l.Check(ctx, user("ann"))
		if got := s.buckets(t)[0]; got.Limit != want || d.Limit != want || got.Key != fmt.Sprintf("1t:default::user:60s-%d-%d:%s", want.Quota, want.Quota, got.Key[len(got.Key)-33:]) {
			t.Errorf("asked for %v at %s and told of %v, want %v", got.Limit, got.Key, d.Limit, want)
		}
	}
	limits[0] = core.PerMinute(-1)
	if l.Check(ctx, user("ann")); l.Stats().InvalidLimits != 1 {
		t.Error("what a tier became is not looked at")
	}
}

// One tier at two levels, or before and after a change of policy, is not one thing.
func TestTiersBelongToTheirLevel(t *testing.T) {
	gold := func(*core.Request) []core.Limit { return []core.Limit{core.PerMinute(600)} }
	level := func(name string) core.Level {
		l := core.PerKey(name, fixed, ok1)
		l.LimitsFor = gold
		return l
	}
	l := limiter(t, scripted(), core.Policy{level("a"), level("b")})
	equal(t, "two levels", lines(l.Check(ctx, user("ann")))[:1], []string{`RateLimit-Policy: "a";q=600;w=60, "b";q=600;w=60`})
	if err := l.SetPolicy(core.Policy{level("c"), core.PerKey("a", fixed, core.Per(5, 2*time.Second))}); err != nil {
		t.Fatal(err)
	}
	equal(t, "another policy", lines(l.Check(ctx, user("ann")))[:1], []string{`RateLimit-Policy: "c";q=600;w=60, "a";q=5;w=2`})
}
