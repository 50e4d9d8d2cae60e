package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// What core allocates beyond the store is a promise: two for a decision, one more for all of its
// headers, one more where the service's own functions need a Request.
func TestAllocationsOfADecision(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	anonymous, v6, foreign := typical(), typical(), typical()
	anonymous.User = ""
	v6.IP = from("2001:db8:1:2:3:4:5:6").IP
	foreign.Endpoint = "GET /items/:id/*rest"
	given := typical()
	given.SetKey("user", "ann", true)
	both := core.WithHeaders(core.RateLimit, core.XRateLimitEpoch)
	for name, row := range map[string]struct {
		store          *null
		policy         core.Policy
		r              core.Request
		opts           []core.Option
		check, headers float64
	}{
		"three levels":      {admitting(), three(), typical(), nil, 1, 2},
		"denied":            {denying(), three(), typical(), nil, 1, 2},
		"older formats":     {admitting(), three(), typical(), []core.Option{both}, 1, 2},
		"older and denied":  {denying(), three(), typical(), []core.Option{both, core.WithRetryJitter(0.5)}, 1, 2},
		"draft 07":          {admitting(), three(), typical(), []core.Option{core.WithHeaders(core.RateLimitDraft07)}, 1, 2},
		"anonymous":         {admitting(), three(), anonymous, nil, 1, 2},
		"IPv6":              {admitting(), three(), v6, nil, 1, 2},
		"foreign spelling":  {admitting(), three(), foreign, nil, 1, 2},
		"hashed":            {admitting(), three(), typical(), []core.Option{core.WithKeyHash([]byte("0123456789abcdef"))}, 1, 2},
		"given key":         {admitting(), three(), given, nil, 1, 2},
		"eight limits":      {admitting(), eight(), typical(), nil, 1, 2},
		"one's own key":     {admitting(), custom(), typical(), nil, 2, 3},
		"plan tiers":        {admitting(), tiered(), typical(), nil, 2, 3},
		"a route":           {admitting(), three(), typical(), []core.Option{core.WithRoute("GET /items/{id}", core.Policy{core.PerUser(ok1)})}, 1, 2},
		"an adapter's keys": {admitting(), append(three(), core.PerKey("tenant", core.Provided, ok1)), typical(), nil, 1, 2},
		"on no list":        {admitting(), three(), typical(), []core.Option{core.WithDenyList(thousand()), core.WithAllowList(thousand())}, 1, 2},
		"on no list, IPv6":  {admitting(), three(), v6, []core.Option{core.WithDenyList(thousand())}, 1, 2},
		"on the deny list":  {admitting(), three(), typical(), []core.Option{core.WithDenyList(ips("203.0.113.77/32"))}, 1, 1},
		"on the allow list": {admitting(), three(), typical(), []core.Option{core.WithAllowList(users(typical().User))}, 1, 1},
	} {
		l := limiter(t, row.store, row.policy, row.opts...)
		if got := testing.AllocsPerRun(200, func() { l.Check(ctx, row.r) }); got > row.check {
			t.Errorf("%s: Check allocates %v times, want %v", name, got, row.check)
		}
		if got := testing.AllocsPerRun(200, func() { read(l.Check(ctx, row.r)) }); got > row.headers {
			t.Errorf("%s: Check and its headers allocate %v times, want %v", name, got, row.headers)
		}
	}
}

// A refusal is what a flood is answered with.
func TestAllocationsOfAProblem(t *testing.T) {
	d := limiter(t, denying(), three()).Check(ctx, typical())
	if got := testing.AllocsPerRun(200, func() { d.Problem() }); got > 1 {
		t.Errorf("Problem allocates %v times, want 1", got)
	}
}

// Up to eight limits have room in the account itself.
func TestAllocationsByNumberOfLimits(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for n := 1; n <= 8; n++ {
		l := limiter(t, admitting(), core.Policy{core.PerUser(slices.Repeat([]core.Limit{ok1}, n)...)})
		if got := testing.AllocsPerRun(200, func() { l.Check(ctx, user("ann")) }); got > 1 {
			t.Errorf("%d limits: Check allocates %v times, want 1", n, got)
		}
	}
}

// What an adapter pays beyond: the context, and nothing to read it.
func TestAllocationsOfAdmit(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	l, r := limiter(t, admitting(), three()), typical()
	if got := testing.AllocsPerRun(200, func() {
		ctx, d := l.Admit(ctx, r, time.Second)
		read(d)
		if kept, ok := core.FromContext(ctx); !ok || !kept.Allowed {
			t.Fatal("no decision in the context")
		}
	}); got > 3 {
		t.Errorf("Admit and its headers allocate %v times, want 3", got)
	}
}

// The smallest account that holds a policy is what its decisions are made in.
func TestAccountsFitTheirPolicy(t *testing.T) {
	for n := 1; n <= 10; n++ {
		limits := make([]core.Limit, n)
		for i := range limits {
			limits[i] = core.Per(int64(n), time.Duration(i+1)*time.Second)
		}
		outcomes := make([]core.Outcome, n)
		for i := range outcomes {
			outcomes[i] = admits(int64(i), 0)
		}
		s := scripted(outcomes...)
		d := limiter(t, s, core.Policy{core.PerUser(limits...)}).Check(ctx, user("ann"))
		asked, told := s.buckets(t), d.Levels()
		if len(asked) != n || len(told) != n {
			t.Fatalf("%d limits: %d asked for, %d told of", n, len(asked), len(told))
		}
		for i := range limits {
			if asked[i].Limit != limits[i] || told[i].Limit != limits[i] || told[i].Remaining != int64(i) {
				t.Errorf("limit %d of %d is asked for as %v and told of as %v with %d left", i, n, asked[i].Limit, told[i].Limit, told[i].Remaining)
			}
			if want := fmt.Sprintf("1t:default::user:%ds:", i+1); asked[i].Key[:len(want)] != want {
				t.Errorf("limit %d of %d has the key %s", i, n, asked[i].Key)
			}
		}
	}
}
