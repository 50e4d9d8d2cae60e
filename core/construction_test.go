package core_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

var ok1 = core.PerSecond(1)

// mistakes are policies and options that must not make a limiter, with what the error names.
func mistakes() map[string]struct {
	policy core.Policy
	opts   []core.Option
	want   []string
} {
	type m = struct {
		policy core.Policy
		opts   []core.Option
		want   []string
	}
	good := core.Policy{core.PerIP(ok1)}
	mode := core.PerIP(ok1)
	mode.OnFailure = core.Closed + 1
	out := map[string]m{
		"no policy":              {nil, nil, []string{"policy is empty"}},
		"no levels":              {core.Policy{}, nil, []string{"policy is empty"}},
		"no limits":              {core.Policy{core.PerIP()}, nil, []string{`level "ip"`, "limits is empty"}},
		"second limit":           {core.Policy{core.PerIP(ok1, core.PerSecond(0))}, nil, []string{`level "ip"`, "limits[1]", "quota is 0"}},
		"zero limit":             {core.Policy{core.PerIP(core.Limit{})}, nil, []string{`level "ip"`, "limits[0]", "quota is 0"}},
		"period":                 {core.Policy{core.PerIP(core.Per(1, 0))}, nil, []string{`level "ip"`, "period is 0"}},
		"burst":                  {core.Policy{core.PerIP(ok1.WithBurst(-1))}, nil, []string{`level "ip"`, "burst is -1"}},
		"unknown algorithm":      {core.Policy{core.PerIP(ok1.With(77))}, nil, []string{`level "ip"`, "algorithm is 77"}},
		"name used twice":        {core.Policy{core.PerIP(ok1), core.PerUser(ok1), core.PerIP(ok1)}, nil, []string{`level "ip"`, "name is used twice"}},
		"nil key":                {core.Policy{core.PerKey("tenant", nil, ok1)}, nil, []string{`level "tenant"`, "key is nil"}},
		"failure mode":           {core.Policy{mode}, nil, []string{`level "ip"`, "OnFailure is 3"}},
		"nil option":             {good, []core.Option{nil}, []string{"option is nil"}},
		"jitter NaN":             {good, []core.Option{core.WithRetryJitter(math.NaN())}, []string{"jitter is NaN"}},
		"jitter negative":        {good, []core.Option{core.WithRetryJitter(-0.1)}, []string{"jitter is -0.1"}},
		"jitter above 1":         {good, []core.Option{core.WithRetryJitter(1.1)}, []string{"jitter is 1.1"}},
		"jitter infinite":        {good, []core.Option{core.WithRetryJitter(math.Inf(1))}, []string{"jitter is +Inf"}},
		"prefix too short":       {good, []core.Option{core.WithIPv6Prefix(31)}, []string{"ipv6 prefix is 31"}},
		"prefix too long":        {good, []core.Option{core.WithIPv6Prefix(129)}, []string{"ipv6 prefix is 129"}},
		"prefix negative":        {good, []core.Option{core.WithIPv6Prefix(-1)}, []string{"ipv6 prefix is -1"}},
		"key secret too short":   {good, []core.Option{core.WithKeyHash(make([]byte, 15))}, []string{"key hash secret has 15 bytes"}},
		"nil observer":           {good, []core.Option{core.WithObserver(nil)}, []string{"observer is nil"}},
		"nil clock":              {good, []core.Option{core.WithClock(nil)}, []string{"clock is nil"}},
		"unknown header format":  {good, []core.Option{core.WithHeaders(99)}, []string{"headers: ", "format is 99"}},
		"one field, two formats": {good, []core.Option{core.WithHeaders(core.RateLimit, core.RateLimitDraft07)}, []string{"headers: ", "ratelimit", "ratelimit-draft-07", "RateLimit-Policy"}},
		"drafts 06 and 11":       {good, []core.Option{core.WithHeaders(core.RateLimitDraft06, core.RateLimit)}, []string{"headers: ", "RateLimit-Policy"}},
		"epoch and delta":        {good, []core.Option{core.WithHeaders(core.XRateLimitDelta, core.XRateLimitEpoch)}, []string{"headers: ", "X-RateLimit-Limit"}},
		"a format twice":         {good, []core.Option{core.WithHeaders(core.RateLimit, core.RateLimit)}, []string{"headers: "}},
		"empty route":            {good, []core.Option{core.WithRoute("", good)}, []string{"route: endpoint is \"\""}},
		"route without path":     {good, []core.Option{core.WithRoute("GET", good)}, []string{`route: endpoint is "GET"`}},
		"empty route policy":     {good, []core.Option{core.WithRoute("GET /a", nil)}, []string{`route "GET /a"`, "policy is empty"}},
		"route given twice":      {good, []core.Option{core.WithRoute("GET /a", good), core.WithRoute("GET /a", good)}, []string{`route "GET /a" is given twice`}},
		"route in two spellings": {good, []core.Option{core.WithRoute("GET /a/:id", good), core.WithRoute("GET /a/{id}", good)}, []string{`route "GET /a/{id}" is given twice`}},
		"mistake in a route":     {good, []core.Option{core.WithRoute("GET /a", core.Policy{core.PerIP(core.PerDay(0))})}, []string{`route "GET /a"`, `level "ip"`, "quota is 0"}},
		"several mistakes":       {good, []core.Option{core.WithName("A"), core.WithIPv6Prefix(1)}, []string{`name is "A"`, "ipv6 prefix is 1"}},
	}
	for _, name := range []string{"", "A", "1a", "-a", "_a", "a b", "a:b", "a.b", "é", "a\x00", "a\"", strings.Repeat("a", 65)} {
		out["level name "+name] = m{core.Policy{core.PerKey(name, fixed, ok1)}, nil, []string{"name is "}}
		out["limiter name "+name] = m{good, []core.Option{core.WithName(name)}, []string{"name is "}}
	}
	return out
}

func TestMistakesAreNamedAtConstruction(t *testing.T) {
	for name, m := range mistakes() {
		l, err := core.New(scripted(), m.policy, m.opts...)
		if err == nil || l != nil {
			t.Errorf("%s: New gives %v, %v", name, l, err)
			continue
		}
		for _, want := range append(m.want, "core: ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error is %q, want it to say %q", name, err, want)
			}
		}
	}
}

// A limiter that is at work takes a mistake no more than a new one does, and works on.
func TestMistakesChangeNothingAtRunTime(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(100))}, core.WithRoute("GET /free", core.Exempt))
	want := int64(100)
	for name, m := range mistakes() {
		if err := l.SetPolicy(m.policy, m.opts...); err == nil {
			t.Fatalf("%s: SetPolicy takes it", name)
		}
		if _, err := l.With(m.policy); err == nil && m.opts == nil {
			t.Fatalf("%s: With takes it", name)
		}
		want--
		d := l.Check(ctx, on("192.0.2.1", "", "GET /x"))
		if d.Remaining != want || len(lines(d)) != 2 {
			t.Fatalf("%s: afterwards %+v with %q", name, d, lines(d))
		}
		if d := l.Check(ctx, on("192.0.2.1", "", "GET /free")); d.Source != core.FromExempt {
			t.Fatalf("%s: the exempt route is gone", name)
		}
	}
}

func TestStoresAreChecked(t *testing.T) {
	policy := core.Policy{core.PerIP(ok1)}
	refused := func(name string, s core.Store, p core.Policy, want string, opts ...core.Option) {
		t.Helper()
		if _, err := core.New(s, p, opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", name, err, want)
		}
	}
	refused("nil store", nil, policy, "store is nil")
	refused("store with a wrong option", memstore.New(memstore.WithMaxEntries(-1)), policy, "max entries is -1")

	shared := scripted()
	shared.traits = core.Traits{Algorithms: []core.Algorithm{core.TokenBucket, core.FixedWindow}}
	refused("local without a local half", shared, policy, `level "ip": OnFailure is Local`)
	refused("and how to mend it", shared, policy, "fallback.New")
	open := core.PerUser(ok1)
	open.OnFailure = core.Open
	limiter(t, shared, core.Policy{open})
	refused("local on a route", shared, core.Policy{open}, `route "GET /a": level "ip": OnFailure is Local`, core.WithRoute("GET /a", policy))

	log := core.PerUser(core.PerMinute(5).With(core.SlidingLog))
	log.OnFailure = core.Closed
	refused("algorithm the store lacks", shared, core.Policy{log}, `level "user": algorithm sliding_log is not one the store has`)
	refused("on a route too", shared, core.Policy{open}, `route "GET /a": level "user": algorithm sliding_log`, core.WithRoute("GET /a", core.Policy{log}))
	limiter(t, scripted(), core.Policy{log})
	if err := limiter(t, shared, core.Policy{open}).SetPolicy(core.Policy{log}); err == nil {
		t.Error("SetPolicy takes an algorithm that the store lacks")
	}
}

func TestNamesAtTheEdgesAreFine(t *testing.T) {
	for _, name := range []string{"a", "z9_-", strings.Repeat("a", 64)} {
		limiter(t, scripted(), core.Policy{core.PerKey(name, fixed, ok1)}, core.WithName(name))
	}
	limiter(t, scripted(), core.Policy{core.PerIP(ok1)}, core.WithIPv6Prefix(32), core.WithRetryJitter(1), core.WithKeyHash(make([]byte, 16)))
	limiter(t, scripted(), core.Policy{core.PerIP(ok1)}, core.WithIPv6Prefix(128), core.WithRetryJitter(0), core.WithHeaders(core.RateLimit, core.XRateLimitDelta))
	limiter(t, scripted(), core.Exempt)
	limiter(t, scripted(), core.Policy{core.PerIP(ok1)}, core.WithRoute("/pkg.Service/Method", core.Exempt), core.WithRoute("* /a", core.Exempt))
}
