package adaptertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

const (
	xff = "X-Forwarded-For: "
	xri = "X-Real-IP: "
	fwd = "Forwarded: "
)

// proxyTable: the address a request has, given its peer and its header lines. That table of core
// is longer; this one is what an adapter can get wrong.
var proxyTable = []struct {
	name    string
	trusted string
	reads   core.ForwardHeader
	peer    string
	lines   []string
	want    string
}{
	{"one line is read from the right", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff + "198.51.100.99, 192.168.1.50"}, "192.168.1.50"},
	{"so are two lines", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff + "198.51.100.99", xff + "192.168.1.50"}, "192.168.1.50"},
	{"and two lines in front of a trusted one", "10.0.0.0/24", core.XForwardedFor, "10.0.0.2:1", []string{xff + "198.51.100.99", xff + "192.168.1.50", xff + "10.0.0.7"}, "192.168.1.50"},
	{"garbage to the left does not matter", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff + "garbage, 192.168.1.50"}, "192.168.1.50"},
	{"all trusted is the leftmost", "10.0.0.0/8", core.XForwardedFor, "10.0.0.2:1", []string{xff + "10.1.1.1, 10.2.2.2"}, "10.1.1.1"},
	{"an untrusted peer is itself", "10.0.0.2/32", core.XForwardedFor, "10.0.0.3:1", []string{xff + "192.168.1.50"}, "10.0.0.3"},
	{"a trusted peer without a header is itself", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", nil, "10.0.0.2"},
	{"a header it does not read is not read", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xri + "192.168.1.50", fwd + "for=192.168.1.50"}, "10.0.0.2"},
	{"lower case is the same header", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{"x-forwarded-for: 192.168.1.50"}, "192.168.1.50"},
	{"X-Real-IP from an untrusted peer, naming a trusted one", "8.8.8.8/32", core.XRealIP, "1.1.1.1:1", []string{xri + "8.8.8.8"}, "1.1.1.1"},
	{"X-Real-IP from a trusted peer", "8.8.8.8/32", core.XRealIP, "8.8.8.8:1", []string{xri + "1.1.1.1"}, "1.1.1.1"},
	{"Forwarded from a trusted peer", "10.0.0.2/32", core.Forwarded, "10.0.0.2:1", []string{fwd + "for=198.51.100.99", fwd + `for="[2001:db8::9]:4711";proto=https`}, "2001:db8::"},
	{"a peer without an address is not trusted", "10.0.0.2/32", core.XForwardedFor, "@", []string{xff + "192.168.1.50"}, ""},
}

// proxyCases: which address a request comes from behind proxies.
var proxyCases = group{
	"the address is the last that a trusted proxy vouches for": func(t *testing.T, h *harness) {
		for _, row := range proxyTable {
			var w witness
			proxies, err := core.ParseProxies(row.trusted)
			if err != nil {
				t.Fatal(err)
			}
			l := limiterOver(t, h.anotherStore(t), core.Policy{w.level()})
			c := h.serve(t, h.simple(l, Proxies{proxies.Reading(row.reads)})).from(t, row.peer)
			c.do(t, "GET /x", row.lines...).is(t, 200)
			if got := w.addresses(); !slices.Equal(got, []string{row.want}) {
				t.Errorf("%s: address is %q, want %q", row.name, got, row.want)
			}
		}
	},

	"clients behind a proxy pay each for themselves": func(t *testing.T, h *harness) {
		proxies, err := core.ParseProxies("127.0.0.0/8")
		if err != nil {
			t.Fatal(err)
		}
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute()), Proxies{proxies}))
		c.do(t, "GET /x", xff+"192.0.2.1").is(t, 200)
		c.do(t, "GET /x", xff+"192.0.2.1").is(t, 429)
		c.do(t, "GET /x", xff+"192.0.2.2").is(t, 200)
		c.do(t, "GET /x", xff+"203.0.113.5, 192.0.2.2").is(t, 429)
	},

	"an IPv6 client behind a proxy cannot rotate either": func(t *testing.T, h *harness) {
		proxies, err := core.ParseProxies("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerHour(10))}), Proxies{proxies}))
		for i := range 100 {
			want := 200
			if i >= 10 {
				want = 429
			}
			c.do(t, "GET /x", fmt.Sprintf("%s2001:db8:1:2::%x", xff, i+1)).is(t, want)
		}
		c.do(t, "GET /x", xff+"2001:db8:1:3::1").is(t, 200, "ip 9")
	},
}
