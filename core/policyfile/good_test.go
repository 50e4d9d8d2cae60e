package policyfile_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

var goodLevels = []struct{ text, want string }{
	{base, "ip [1 per 1s]"},
	{"\ufeff" + base, "ip [1 per 1s]"},
	{"levels: [{name: ip, limit: 1/s}]\r\n...\r\n", "ip [1 per 1s]"},
	{`{"levels": [{"name": "ip", "limit": "300/min"}]}`, "ip [300 per 1m0s]"},
	{"# comment\n---\nlevels: # here\n- name: ip\n  limit: 300/min\n", "ip [300 per 1m0s]"},
	{"levels: exempt\n", "exempt []"},

	{level("{name: ip, limit: 10/100ms}"), "ip [10 per 100ms]"},
	{level("{name: ip, limit: 10/ms}"), "ip [10 per 1ms]"},
	{level("{name: ip, limit: 10/sec}"), "ip [10 per 1s]"},
	{level("{name: ip, limit: 10/second}"), "ip [10 per 1s]"},
	{level("{name: ip, limit: 10/30s}"), "ip [10 per 30s]"},
	{level("{name: ip, limit: 10/minute}"), "ip [10 per 1m0s]"},
	{level("{name: ip, limit: 5/15min}"), "ip [5 per 15m0s]"},
	{level("{name: ip, limit: 10/h}"), "ip [10 per 1h0m0s]"},
	{level("{name: ip, limit: 10/6hour}"), "ip [10 per 6h0m0s]"},
	{level("{name: ip, limit: 5000/day}"), "ip [5000 per 24h0m0s]"},
	{level("{name: ip, limit: 1/30d}"), "ip [1 per 720h0m0s]"},
	{level("{name: ip, limit: 1000000000/s}"), "ip [1000000000 per 1s]"},
	{level("{name: ip, limit: 1000000000000/106751d}"), "ip [1000000000000 per 2562024h0m0s]"},
	{level("{name: ip, limit: unlimited}"), "ip [unlimited]"},
	{level("{name: ip, limit: block}"), "ip [block all]"},
	{level("{name: user, limit: [10/s, 5000/day]}"), "user [10 per 1s 5000 per 24h0m0s]"},
	{level("{name: endpoint, limit: 1000/s, burst: 2000}"), "endpoint [1000 per 1s burst 2000]"},
	{level("{name: global, limit: 5/s, burst: 1000000000000}"), "global [5 per 1s burst 1000000000000]"},
	{level("{name: ip, limit: 5/s, algorithm: sliding_log}"), "ip [5 per 1s (sliding_log)]"},
	{level("{name: ip, limit: 5/s, algorithm: leaky_bucket, burst: 1}"), "ip [5 per 1s burst 1 (leaky_bucket)]"},
	{
		level("{name: ip, algorithm: fixed_window, limit: [5/s, {limit: 9/min, burst: 3, algorithm: token_bucket}, {limit: 9/h}]}"),
		"ip [5 per 1s (fixed_window) 9 per 1m0s burst 3 9 per 1h0m0s (fixed_window)]",
	},
	{level("{name: ip, limit: 5/s, algorithm: sliding_window}"), "ip [5 per 1s (sliding_window)]"},
	{level("{name: ip, limit: 5/s, algorithm: sliding_window, burst: 5}"), "ip [5 per 1s (sliding_window)]"},
	{level("{name: ip, limit: 5000/day, calendar: daily}"), "ip [5000 per 24h0m0s (fixed_window) daily]"},
	{level("{name: ip, limit: 5000/d, calendar: daily, zone: Asia/Tokyo}"), "ip [5000 per 24h0m0s (fixed_window) daily in Asia/Tokyo]"},
	{level("{name: ip, limit: 9/week, calendar: weekly, zone: UTC}"), "ip [9 per 168h0m0s (fixed_window) weekly in UTC]"},
	{
		level("{name: ip, limit: 1000000000000/month, calendar: monthly, algorithm: fixed_window, zone: Europe/Berlin}"),
		"ip [1000000000000 per 720h0m0s (fixed_window) monthly in Europe/Berlin]",
	},
	{level("{name: ip, limit: 9/day, algorithm: fixed_window, offset: 6h}"), "ip [9 per 24h0m0s (fixed_window) offset 6h0m0s]"},
	{level("{name: ip, limit: 9/h, algorithm: sliding_window, offset: 15min}"), "ip [9 per 1h0m0s (sliding_window) offset 15m0s]"},
	{level("{name: ip, limit: 60/min, step: 60}"), "ip [60 per 1m0s in steps of 60]"},
	{level("{name: ip, limit: 60/min, burst: 90, step: 10, start: 0}"), "ip [60 per 1m0s burst 90 in steps of 10 starting with 0]"},
	{level("{name: ip, limit: 60/min, start: 60}"), "ip [60 per 1m0s starting with 60]"},
	{
		level("{name: ip, limit: [10/s, {limit: 60/min, step: 60}, {limit: 9/h, algorithm: fixed_window, offset: 1min}, {limit: 9/month, calendar: monthly}]}"),
		"ip [10 per 1s 60 per 1m0s in steps of 60 9 per 1h0m0s (fixed_window) offset 1m0s 9 per 720h0m0s (fixed_window) monthly]",
	},
	{level("{name: ip, limit: 5/s, on_failure: local, shadow: false}"), "ip [5 per 1s]"},
	{level("{name: ip, limit: 5/s, on_failure: open, shadow: true}"), "ip [5 per 1s] failing open shadow"},
	{level("{name: global, limit: 5000/s, lease: true}"), "global [5000 per 1s] leased"},
	{level("{name: global, limit: 5000/s, lease: false}"), "global [5000 per 1s]"},
	{level("{name: ip, limit: 300/min, guard: {threshold: 30}}"), "ip [300 per 1m0s] guarded below 30 per 1m0s"},
	{
		level("{name: ip, limit: 30/s, guard: {threshold: 9, window: 10s, epsilon: 1e-3, delta: 0.05, refuse_above: 5000}}"),
		"ip [30 per 1s] guarded below 9 per 10s refusing above 5000",
	},
	{level("{name: ip, limit: 5/s, on_failure: closed}"), "ip [5 per 1s] failing closed"},
	{level("{name: tenant, key: header:X-Tenant, limit: 5/s}"), "tenant [5 per 1s]"},
	{
		"levels:\n- {name: global, limit: 3/s}\n- {name: ip, limit: 2/s}\n- {name: user, limit: 1/s}\n",
		"global [3 per 1s]; ip [2 per 1s]; user [1 per 1s]",
	},
}

func TestLevels(t *testing.T) {
	for _, test := range goodLevels {
		f := parse(t, test.text)
		if got := describe(f.Policy); got != test.want {
			t.Errorf("got  %s\nwant %s\nin\n%s", got, test.want, test.text)
		}
		if _, err := f.Limiter(everything); err != nil {
			t.Errorf("%v\nin\n%s", err, test.text)
		}
	}
}

func TestKeys(t *testing.T) {
	r := &core.Request{
		IP: netip.MustParseAddr("192.0.2.1"), User: "ada", Endpoint: "GET /",
		Header: http.Header{"X-Tenant": {"acme"}},
	}
	f := parse(t, `
levels:
  - {name: ip, limit: 1/s}
  - {name: user, limit: 1/s}
  - {name: endpoint, limit: 1/s}
  - {name: global, limit: 1/s}
  - {name: tenant, limit: 1/s, key: "header:x-tenant"}
`)
	for i, want := range []string{"192.0.2.1", "ada", "GET /", "all", "acme"} {
		if got, ok := f.Policy[i].Key(r); got != want || !ok {
			t.Errorf("level %s: key %q, %v, want %q", f.Policy[i].Name, got, ok, want)
		}
	}
	if got, ok := f.Policy[4].Key(&core.Request{Header: http.Header{}}); ok {
		t.Errorf("a request without the header has key %q, want none", got)
	}
}

func TestProxies(t *testing.T) {
	lines := map[string][]string{
		"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.2"}, "X-Real-Ip": {"192.0.2.3"},
	}
	for text, want := range map[string]string{
		"":              "10.0.0.1",
		"proxies: []\n": "10.0.0.1",
		"proxies: [10.0.0.0/8, \"2001:db8::1\"]\n":             "192.0.2.1",
		"proxies: [10.9.9.9]\n":                                "10.0.0.1",
		"proxies: [10.0.0.1]\nproxy_header: x-forwarded-for\n": "192.0.2.1",
		"proxy_header: forwarded\nproxies: [10.0.0.1]\n":       "192.0.2.2",
		"proxies: [10.0.0.1]\nproxy_header: x-real-ip\n":       "192.0.2.3",
	} {
		f := parse(t, text+base)
		got := f.Proxies.Client("10.0.0.1:80", func(name string) []string { return lines[name] })
		if got.String() != want {
			t.Errorf("client %v, want %s\nin\n%s", got, want, text)
		}
	}
}
