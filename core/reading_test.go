package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func keys(t testing.TB, p core.Policy, r core.Request, opts ...core.Option) (out []string) {
	t.Helper()
	s := scripted()
	limiter(t, s, p, opts...).Check(ctx, r)
	for _, b := range s.buckets(t) {
		out = append(out, strings.Clone(b.Key))
	}
	return out
}

// Built-in keys are read without being called, so a level's own function has to be told from them.
func TestAnOverriddenKeyWins(t *testing.T) {
	tenant := func(*core.Request) (string, bool) { return "acme", true }
	for _, level := range []core.Level{core.PerIP(ok1), core.PerUser(ok1), core.PerEndpoint(ok1), core.Global(ok1)} {
		before := keyOf(t, core.Policy{level}, typical())
		level.Key = tenant
		after := keyOf(t, core.Policy{level}, typical())
		if level.Name != "user" && !strings.HasSuffix(after, ":acme") || after == before {
			t.Errorf("%s: the key is %s, want that of its function", level.Name, after)
		}
		level.Key = func(*core.Request) (string, bool) { return "", true }
		s := scripted()
		if limiter(t, s, core.Policy{level}).Check(ctx, typical()); len(s.asked()) != 0 {
			t.Errorf("%s: an empty key counts", level.Name)
		}
		level.Key = core.Provided
		if limiter(t, s, core.Policy{level}).Check(ctx, typical()); len(s.asked()) != 0 {
			t.Errorf("%s: a key that only adapters give counts without them", level.Name)
		}
	}
}

// A built-in function in another level is still that function, and the level what it was.
func TestBuiltInKeysInOtherLevels(t *testing.T) {
	functions := map[string]func(*core.Request) (string, bool){
		"ip": core.PerIP().Key, "user": core.PerUser().Key, "endpoint": core.PerEndpoint().Key, "global": core.Global().Key,
	}
	requests := []core.Request{{}, typical(), on("2001:db8::1", "", ""), user("{é}"), {Endpoint: "GET /%"}}
	for name, built := range functions {
		wrapped := func(r *core.Request) (string, bool) { return built(r) } // which nobody recognizes
		for _, level := range []core.Level{core.PerIP(ok1), core.PerUser(ok1), core.PerEndpoint(ok1), core.PerKey("own", wrapped, ok1)} {
			for _, r := range requests {
				for _, opts := range [][]core.Option{nil, {core.WithKeyHash([]byte("0123456789abcdef"))}} {
					direct, called := level, level
					direct.Key, called.Key = built, wrapped
					base := core.Global(ok1) // so that the store is asked in any case
					got, want := keys(t, core.Policy{direct, base}, r, opts...), keys(t, core.Policy{called, base}, r, opts...)
					equal(t, name+" in "+level.Name, got, want)
				}
			}
		}
	}
}

func TestKeysOfADecisionNeverChange(t *testing.T) {
	s := scripted()
	var kept, copies []string
	s.answer = func(b []core.Bucket, out []core.Outcome) error {
		for i := range b {
			kept, copies = append(kept, b[i].Key), append(copies, strings.Clone(b[i].Key))
			out[i].Admits = true
		}
		return nil
	}
	l := limiter(t, s, three(), core.WithKeyHash([]byte("0123456789abcdef")))
	for _, ip := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "192.0.2.1"} {
		for _, who := range []string{"ann", "bob", strings.Repeat("u", 300), "ann"} {
			for _, where := range []string{"GET /a", "GET /{b}", "GET /:c", strings.Repeat("x", 700)} {
				l.Check(ctx, on(ip, who, where))
			}
		}
	}
	if !slices.Equal(kept, copies) {
		t.Error("a later request has changed an earlier one's keys")
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(kept))); len(distinct) != 3+3+4 {
		t.Errorf("3 addresses, 3 users and 4 endpoints have %d keys", len(distinct))
	}
}

// What one of the service's functions changes the next sees, built-in ones too; what it keeps does
// not become another request.
func TestFunctionsShareTheirRequest(t *testing.T) {
	var kept []*core.Request
	lower := core.PerKey("lower", func(r *core.Request) (string, bool) {
		kept = append(kept, r)
		r.User = strings.ToLower(r.User)
		return r.User, true
	}, ok1)
	tier := core.PerUser(ok1)
	tier.LimitsFor = func(r *core.Request) []core.Limit {
		if r.User != strings.ToLower(r.User) {
			t.Errorf("the tier is asked for %q", r.User)
		}
		r.Endpoint = "GET /tier"
		return nil
	}
	p := core.Policy{lower, tier, core.PerEndpoint(ok1)}
	equal(t, "keys", keys(t, p, on("192.0.2.1", "ANN", "GET /")), []string{keyOf(t, core.Policy{core.PerKey("lower", core.PerUser().Key, ok1)}, user("ann")), keyOf(t, core.Policy{core.PerUser(ok1)}, user("ann")), "1t:default::endpoint:1s:GET%20/tier"})
	keys(t, p, user("BOB"))
	if len(kept) != 2 || kept[0].User != "ann" || kept[1].User != "bob" {
		t.Errorf("the functions' requests became %+v", kept)
	}
}
