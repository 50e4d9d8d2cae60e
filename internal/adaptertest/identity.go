package adaptertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// identityCases: which address a request comes from where no proxy is trusted.
var identityCases = group{
	"no header moves a client to another address": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerHour(10))})))
		for i := range 20 {
			forged := fmt.Sprintf("198.51.100.%d", i)
			want := 200
			if i >= 10 {
				want = 429
			}
			c.do(t, "GET /x", "X-Forwarded-For: "+forged, "X-Real-IP: "+forged, "True-Client-IP: "+forged, "CF-Connecting-IP: "+forged,
				"X-Client-IP: "+forged, "X-Appengine-Remote-Addr: "+forged, "Fly-Client-IP: "+forged, "Forwarded: for="+forged).is(t, want)
		}
	},

	"two peers are two clients, and a peer's connections are one": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute())))
		c.from(t, "192.0.2.1:1000").do(t, "GET /x").is(t, 200)
		c.from(t, "192.0.2.1:2000").do(t, "GET /x").is(t, 429)
		c.from(t, "192.0.2.2:1000").do(t, "GET /x").is(t, 200)
		c.do(t, "GET /x").is(t, 200)
	},

	"a peer is known however it is written": func(t *testing.T, h *harness) {
		for peer, address := range map[string]string{
			"192.0.2.10:443":          "192.0.2.10",
			"192.0.2.10":              "192.0.2.10",
			"[::ffff:192.0.2.10]:443": "192.0.2.10",
			"[2001:db8:1:2::9]:443":   "2001:db8:1:2::",
			"[fe80::1%eth0]:443":      "fe80::",
			"":                        "",
			"@":                       "",
			"/run/x.sock":             "",
			"bufconn":                 "",
		} {
			var w witness
			l := limiterOver(t, h.anotherStore(t), core.Policy{w.level(), core.PerIP(core.PerHour(1))})
			c := h.serve(t, h.simple(l)).from(t, peer)
			if address == "" {
				// Not limited by address, and above all not together with all others without one.
				c.do(t, "GET /x").is(t, 200).bare(t)
				c.do(t, "GET /x").is(t, 200).bare(t)
				equal(t, "requests without an address", l.Stats().NoAddress, 2)
			} else {
				c.do(t, "GET /x").is(t, 200, "ip 0")
				c.do(t, "GET /x").is(t, 429, "ip 0")
			}
			if got := w.addresses(); !slices.Equal(got, []string{address, address}) {
				t.Errorf("peer %q: addresses are %q, want %q", peer, got, address)
			}
		}
	},

	"a unix socket has no addresses": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerHour(1)), core.PerUser(core.PerHour(2))})
		c := h.serve(t, h.simple(l, User(byUser))).overUnix(t)
		c.do(t, "GET /x", "X-User: ann").is(t, 200, "user 1")
		c.do(t, "GET /x", "X-User: ann").is(t, 200, "user 0")
		c.do(t, "GET /x", "X-User: ann").is(t, 429, "user 0")
		c.do(t, "GET /x", "X-User: bob").is(t, 200, "user 1")
		equal(t, "requests without an address", l.Stats().NoAddress, 4)
	},

	"an IPv6 client cannot rotate inside its own prefix": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerHour(10))})))
		for i := range 13 {
			want := 200
			if i >= 10 {
				want = 429
			}
			c.from(t, fmt.Sprintf("[2001:db8:1:2::%x]:443", i+1)).do(t, "GET /x").is(t, want)
		}
		c.from(t, "[2001:db8:1:3::1]:443").do(t, "GET /x").is(t, 200, "ip 9")
	},

	"IPv4 neighbours are not one client": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute())))
		for i := range 4 {
			c.from(t, fmt.Sprintf("192.0.2.%d:443", i+1)).do(t, "GET /x").is(t, 200)
		}
	},
}
