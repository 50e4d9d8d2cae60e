package policyfile_test

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// sample has every field.
const sample = `
name: shop                       # key space
proxies: [10.0.0.0/8]
proxy_header: x-forwarded-for
ipv6_prefix: 56
headers: [ratelimit, x-ratelimit-delta]
retry_jitter: 0.2
allow: {users: [prober]}
deny: {ips: [203.0.113.0/24]}
levels:
  - {name: ip, limit: 300/min}
  - {name: user, limit: [10/s, 5000/day]}
  - {name: endpoint, limit: 1000/s, burst: 2000}
  - {name: tenant, key: "header:X-Tenant", limit: 600/min, on_failure: open}
routes:
  "POST /login":
    - {name: ip, limit: 2/15min, on_failure: closed}
    - {name: tenant, limit: 3/h}
  "GET /items/:id":
    - {name: user, limit: unlimited}
    - {name: region, key: "header:X-Region", limit: 1/h, shadow: true}
  "* /search": [{name: ip, limit: block}]
  "/shop.v1.Items/Get": [{name: ip, limit: 7/s}]
  "GET /healthz": exempt
`

func limiterOf(t *testing.T, text string, opts ...core.Option) *core.Limiter {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	limiter, err := parse(t, text).Limiter(store, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

func request(endpoint string) core.Request {
	return core.Request{
		IP: netip.MustParseAddr("192.0.2.1"), User: "ada", Endpoint: endpoint,
		Header: http.Header{"X-Tenant": {"acme"}, "X-Region": {"eu"}},
	}
}

func TestSample(t *testing.T) {
	limiter := limiterOf(t, sample)
	for endpoint, want := range map[string]string{
		"":                   "ip [300 per 1m0s]; user [10 per 1s]; user [5000 per 24h0m0s]; tenant [600 per 1m0s]",
		"GET /other":         "ip [300 per 1m0s]; user [10 per 1s]; user [5000 per 24h0m0s]; endpoint [1000 per 1s burst 2000]; tenant [600 per 1m0s]",
		"POST /login":        "ip [2 per 15m0s]; user [10 per 1s]; user [5000 per 24h0m0s]; endpoint [1000 per 1s burst 2000]; tenant [3 per 1h0m0s]",
		"GET /items/{id}":    "ip [300 per 1m0s]; endpoint [1000 per 1s burst 2000]; tenant [600 per 1m0s]; region [1 per 1h0m0s] shadow",
		"/shop.v1.Items/Get": "ip [7 per 1s]; user [10 per 1s]; user [5000 per 24h0m0s]; endpoint [1000 per 1s burst 2000]; tenant [600 per 1m0s]",
		"GET /healthz":       "",
	} {
		var got []string
		for _, l := range limiter.Peek(context.Background(), request(endpoint)).Levels() {
			s := l.Level + " [" + l.Limit.String() + "]"
			if l.Shadow {
				s += " shadow"
			}
			got = append(got, s)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: levels are\n%s\nwant\n%s", endpoint, strings.Join(got, "; "), want)
		}
	}
	eve := request("GET /healthz")
	eve.IP = netip.MustParseAddr("203.0.113.7")
	if d := limiter.Check(context.Background(), eve); d.Reason != core.Listed {
		t.Errorf("an address on the deny list gives %+v, want it refused as listed", d)
	}
	if d := limiter.Check(context.Background(), core.Request{User: "prober", Endpoint: "PUT /search"}); !d.Allowed {
		t.Errorf("a user on the allow list gives %+v, want it allowed", d)
	}
	if d := limiter.Check(context.Background(), request("PUT /search")); d.Allowed || d.Level != "ip" {
		t.Errorf("blocked route gives %+v, want a denial by ip", d)
	}
}

// The settings are seen in what a denied client is told, and in which addresses are one client.
func TestSampleSettings(t *testing.T) {
	limiter := limiterOf(t, sample)
	r := request("POST /login")
	r.IP = netip.MustParseAddr("2001:db8:0:ff::1")
	for range 2 {
		if d := limiter.Check(context.Background(), r); !d.Allowed {
			t.Fatalf("denied by %s, want admitted", d.Level)
		}
	}
	r.IP = netip.MustParseAddr("2001:db8:0:1::2") // of the same /56
	d := limiter.Check(context.Background(), r)
	if d.Allowed || d.Level != "ip" {
		t.Fatalf("allowed %v by %s, want denied by ip", d.Allowed, d.Level)
	}
	if got, want := headerNames(d), "RateLimit RateLimit-Policy Retry-After X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset"; got != want {
		t.Errorf("headers are %s, want %s", got, want)
	}
}

func headerNames(d core.Decision) string {
	var names []string
	for name := range d.Headers() {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
