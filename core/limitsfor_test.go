package core_test

import (
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func tiers(f func(*core.Request) []core.Limit) core.Level {
	l := core.PerUser(core.PerMinute(10))
	l.LimitsFor = f
	return l
}

func TestPlanTiersChooseTheLimits(t *testing.T) {
	plans := map[string][]core.Limit{
		"pro":   {core.PerMinute(100), core.PerHour(120)},
		"vip":   {core.Unlimited},
		"fraud": {core.BlockAll},
		"none":  nil,
		"empty": {},
	}
	l, _ := limiting(t, core.Policy{tiers(func(r *core.Request) []core.Limit { return plans[r.User] })})
	for name, want := range map[string]int{"free": 10, "none": 10, "empty": 10, "pro": 100, "vip": 500, "fraud": 0} {
		if got := admitted(l, user(name), 500); got != want {
			t.Errorf("%s: %d admitted, want %d", name, got, want)
		}
	}
	d := l.Check(ctx, user("pro"))
	if got := d.Levels(); len(got) != 2 || got[0].Policy != "user" || got[1].Policy != "user-2" || got[1].Remaining != 20 {
		t.Errorf("%+v", got)
	}
	if l.Stats().InvalidLimits != 0 {
		t.Errorf("%+v: no result was invalid", l.Stats())
	}
}

func TestInvalidTierFallsBackAndIsCounted(t *testing.T) {
	bad := map[string][]core.Limit{
		"zero":      {{}},
		"second":    {core.PerMinute(1000), core.PerMinute(-1)},
		"algorithm": {core.PerMinute(1000).With(99)},
		"lacking":   {core.PerMinute(1000).With(core.SlidingLog)},
		"huge":      {core.PerSecond(2_000_000_000)},
	}
	s := scripted()
	s.traits.Algorithms = []core.Algorithm{core.TokenBucket}
	l := limiter(t, s, core.Policy{tiers(func(r *core.Request) []core.Limit { return bad[r.User] })})
	n := uint64(0)
	for name := range bad {
		d := l.Check(ctx, user(name))
		if got := d.Levels(); len(got) != 1 || got[0].Limit != core.PerMinute(10) {
			t.Errorf("%s: %+v, want the level's own limits", name, got)
		}
		if n++; l.Stats().InvalidLimits != n {
			t.Errorf("%s: %d counted, want %d", name, l.Stats().InvalidLimits, n)
		}
	}
}

// Each plan has a bucket of its own, and moving to and fro refills none of them.
func TestChangeOfPlanCountsOnItsOwn(t *testing.T) {
	small, large := core.PerMinute(10), core.PerMinute(60)
	plan := small
	l, _ := limiting(t, core.Policy{tiers(func(*core.Request) []core.Limit { return []core.Limit{plan} })})
	want := map[core.Limit]int{small: 10, large: 60}
	for range 3 {
		for _, plan = range []core.Limit{small, large} {
			if got := admitted(l, user("u"), 100); got != want[plan] {
				t.Errorf("%d admitted under %v, want %d", got, plan, want[plan])
			}
			want[plan] = 0
		}
	}
}

// Two plans that pay from one bucket, as callers of one address do, give each other nothing: the
// smaller capacity may be full, but forgives no debt of the larger one.
func TestSmallTierDoesNotForgiveTheLargeOnesDebt(t *testing.T) {
	small := core.PerMinute(60).WithBurst(10)
	for _, free := range [][]core.Limit{nil, {small}} { // the level's own, and a tier like the other
		level := core.PerIP(small)
		level.LimitsFor = func(r *core.Request) []core.Limit {
			if r.User == "pro" {
				return []core.Limit{small.WithBurst(1000)}
			}
			return free
		}
		l, _ := limiting(t, core.Policy{level})
		got := 0
		for range 10 { // no time goes by
			got += admitted(l, on("192.0.2.1", "pro", ""), 1000)
			got += admitted(l, on("192.0.2.1", "free", ""), 1)
		}
		if got > 1010 {
			t.Errorf("%d admitted at one instant, want at most 1000 and 10", got)
		}
	}
}

// What a level is asked for is the request as the policy sees it.
func TestTiersAndKeysSeeTheRequest(t *testing.T) {
	var seen core.Request
	look := func(r *core.Request) (string, bool) {
		seen = *r
		return "k", true
	}
	l, _ := limiting(t, core.Policy{core.PerKey("a", look, core.PerHour(1))})
	l.Check(ctx, core.Request{User: "u", Endpoint: "GET /x/:id", Cost: 3, Header: header{"A": "b"}})
	if seen.User != "u" || seen.Endpoint != "GET /x/{id}" || seen.Cost != 3 || seen.Header.Get("A") != "b" {
		t.Errorf("%+v", seen)
	}
}
