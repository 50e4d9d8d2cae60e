package policyfile_test

import (
	"context"
	"maps"
	"net/netip"
	"strconv"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// Built-in levels keep core's scopes: a reset of a caller leaves alone what callers share.
func TestScopes(t *testing.T) {
	limiter := limiterOf(t, `
levels:
  - {name: global, limit: 9/h}
  - {name: endpoint, limit: 9/h}
  - {name: ip, limit: 9/h}
  - {name: tenant, key: "header:X-Tenant", limit: 9/h}
`)
	ctx := context.Background()
	for range 3 {
		limiter.Check(ctx, request("GET /"))
	}
	if err := limiter.Reset(ctx, request("GET /")); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, l := range limiter.Check(ctx, request("GET /")).Levels() {
		got[l.Level] = l.Remaining
	}
	if want := map[string]int64{"global": 5, "endpoint": 5, "ip": 8, "tenant": 8}; !maps.Equal(got, want) {
		t.Errorf("after three checks, a reset and a check %v remain, want %v", got, want)
	}
}

// On a route a level of the limiter's own keeps its key unless it is given another one.
func TestRouteKeys(t *testing.T) {
	limiter := limiterOf(t, `
routes:
  "GET /a": [{name: tenant, limit: 2/h}]
  "GET /b": [{name: tenant, limit: 2/h, key: "header:X-Region"}]
levels:
  - {name: tenant, key: "header:X-Tenant", limit: 9/h}
`)
	for endpoint, want := range map[string]bool{"GET /a": true, "GET /b": false} {
		for range 2 {
			limiter.Check(context.Background(), request(endpoint))
		}
		if d := limiter.Check(context.Background(), request(endpoint)); d.Allowed || d.Level != "tenant" {
			t.Errorf("%s: a third request is denied by %q, want tenant", endpoint, d.Level)
		}
		other := request(endpoint)
		other.Header.(interface{ Set(k, v string) }).Set("X-Tenant", "another")
		if d := limiter.Check(context.Background(), other); d.Allowed != want {
			t.Errorf("%s: another tenant of the same region: allowed %v, want %v", endpoint, d.Allowed, want)
		}
	}
}

func TestName(t *testing.T) {
	if f := parse(t, base); f.Name != "" {
		t.Errorf("name is %q without the field, want none", f.Name)
	}
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	for i, want := range []bool{true, false, true} {
		name := []string{"a", "a", "b"}[i]
		f := parse(t, "name: "+name+"\nlevels: [{name: ip, limit: 1/h}]\n")
		if f.Name != name {
			t.Errorf("name is %q, want %q", f.Name, name)
		}
		limiter, err := f.Limiter(store)
		if err != nil {
			t.Fatal(err)
		}
		if d := limiter.Check(context.Background(), request("")); d.Allowed != want {
			t.Errorf("check %d, by limiter %s: allowed %v, want %v", i, name, d.Allowed, want)
		}
	}
}

// longestRetry asks often enough that a spread of a whole hour shows.
func longestRetry(limiter *core.Limiter) (longest int) {
	limiter.Check(context.Background(), request(""))
	for range 50 {
		for name, value := range limiter.Check(context.Background(), request("")).Headers() {
			if n, _ := strconv.Atoi(value); name == "Retry-After" {
				longest = max(longest, n)
			}
		}
	}
	return longest
}

func TestRetryJitter(t *testing.T) {
	for text, want := range map[string]bool{"": false, "retry_jitter: 0\n": false, "retry_jitter: 1\n": true, "retry_jitter: 5e-1\n": true} {
		longest := longestRetry(limiterOf(t, text+"levels: [{name: ip, limit: 1/h}]\n"))
		if got := longest > 3600; got != want {
			t.Errorf("%q: Retry-After is up to %d, above the true wait: want %v", text, longest, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "RateLimit RateLimit-Policy",
		"headers: []\n":                   "",
		"headers: [ratelimit-draft-06]\n": "RateLimit-Limit RateLimit-Policy RateLimit-Remaining RateLimit-Reset",
		"headers: [x-ratelimit-epoch]\n":  "X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset",
	} {
		if got := headerNames(limiterOf(t, text+base).Check(context.Background(), request(""))); got != want {
			t.Errorf("%q: headers are %q, want %q", text, got, want)
		}
	}
}

// What the program says goes before what the file says.
func TestLimiterOptions(t *testing.T) {
	limiter := limiterOf(t, "headers: [ratelimit]\n"+base, core.WithHeaders(core.XRateLimitDelta))
	want := "X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset"
	if got := headerNames(limiter.Check(context.Background(), request(""))); got != want {
		t.Errorf("headers are %q, want %q", got, want)
	}
}

// A field taken out of the file has no effect any more, and what is owed stays owed.
func TestUpdate(t *testing.T) {
	const full = "name: shop\nheaders: [x-ratelimit-delta]\nretry_jitter: 1\nipv6_prefix: 48\nroutes: {GET /x: exempt}\n"
	limiter := limiterOf(t, full+"levels: [{name: ip, limit: 1/h}]\n")
	limiter.Check(context.Background(), request(""))

	if err := parse(t, "name: shop\nlevels: [{name: ip, limit: 1/h}]\n").Update(limiter); err != nil {
		t.Fatal(err)
	}
	d := limiter.Check(context.Background(), request("GET /x"))
	if d.Allowed {
		t.Error("after an update the route is still exempt, or the debt forgotten")
	}
	if got, want := headerNames(d), "RateLimit RateLimit-Policy Retry-After"; got != want {
		t.Errorf("after an update headers are %q, want %q", got, want)
	}
	for _, ip := range []string{"2001:db8:0:1::1", "2001:db8:0:2::1"} {
		r := request("")
		r.IP = netip.MustParseAddr(ip)
		if d := limiter.Check(context.Background(), r); !d.Allowed {
			t.Errorf("after an update %s is of one client with others, want a prefix of 64", ip)
		}
	}
	if longest := longestRetry(limiter); longest > 3600 {
		t.Errorf("after an update Retry-After is up to %d, want no jitter", longest)
	}
}
