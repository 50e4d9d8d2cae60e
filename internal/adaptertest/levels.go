package adaptertest

import (
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func byTenant(c Call) (string, bool) { return c.Header("X-Tenant"), c.Header("X-Tenant") != "none" }

// levelCases: who pays at which level.
var levelCases = group{
	"WithUser keys the user level": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10)), core.PerUser(core.PerMinute(1))}), User(byUser)))
		c.do(t, "GET /x", "X-User: ann").is(t, 200, "ip 9", "user 0")
		c.do(t, "GET /x", "X-User: ann").is(t, 429, "ip 9", "user 0")
		c.do(t, "GET /x", "X-User: bob").is(t, 200, "ip 8", "user 0")
	},

	"no user is no user level, not a user of its own": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(3)), core.PerUser(core.PerMinute(1))}), User(byUser)))
		c.do(t, "GET /x").is(t, 200, "ip 2")
		c.do(t, "GET /x").is(t, 200, "ip 1")
		c.do(t, "GET /x", "X-User: ").is(t, 200, "ip 0")
		c.do(t, "GET /x").is(t, 429, "ip 0")
	},

	"without WithUser nobody is a user": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(3)), core.PerUser(core.PerMinute(1))})))
		c.do(t, "GET /x", "X-User: ann", "Authorization: Basic YW5uOmFubg==").is(t, 200, "ip 2")
	},

	"identities that a client may choose are held by the IP level": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(12)), core.PerUser(core.PerMinute(60))}), User(byUser)))
		for i := range 15 {
			want := 200
			if i >= 12 {
				want = 429
			}
			c.do(t, "GET /x", "X-User: "+string(rune('a'+i))).is(t, want)
		}
	},

	"WithKey keys a level that is Provided": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerKey("tenant", core.Provided, core.PerMinute(1))})
		c := h.serve(t, h.simple(l, Key{"tenant", byTenant}))
		c.do(t, "GET /x", "X-Tenant: acme").is(t, 200, "tenant 0")
		c.do(t, "GET /x", "X-Tenant: acme").is(t, 429, "tenant 0")
		c.do(t, "GET /x", "X-Tenant: initech").is(t, 200, "tenant 0")
		for range 2 {
			c.do(t, "GET /x", "X-Tenant: none").is(t, 200).bare(t) // ok is false
			c.do(t, "GET /x").is(t, 200).bare(t)                   // the key is empty
		}
	},

	"WithKey takes the place of the level's own key": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1)), core.PerKey("tenant", core.ByHeader("X-Other"), core.PerMinute(1))})
		c := h.serve(t, h.simple(l, Key{"tenant", byTenant}, Key{"ip", func(c Call) (string, bool) { return c.Header("X-Device"), true }}))
		c.do(t, "GET /x", "X-Device: 1", "X-Tenant: a", "X-Other: same").is(t, 200, "ip 0", "tenant 0")
		c.do(t, "GET /x", "X-Device: 2", "X-Tenant: b", "X-Other: same").is(t, 200, "ip 0", "tenant 0")
		c.do(t, "GET /x", "X-Device: 2", "X-Tenant: c").is(t, 429, "ip 0", "tenant 1")
	},

	"a level may be keyed by a request header": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerKey("tenant", core.ByHeader("x-tenant"), core.PerMinute(1))})))
		c.do(t, "GET /x", "X-Tenant: acme").is(t, 200, "tenant 0")
		c.do(t, "GET /x", "X-Tenant: acme").is(t, 429, "tenant 0")
		c.do(t, "GET /x", "X-Tenant: initech").is(t, 200, "tenant 0")
		c.do(t, "GET /x").is(t, 200).bare(t)
	},

	"WithPolicy adds levels on a route, counted on their own": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))})
		extra := func(path string) Route {
			return Route{Method: "GET", Path: path, Handler: h.ok, Mounts: []Mount{{l, []Option{Policy{core.PerIP(core.PerMinute(1))}}}}}
		}
		c := h.serve(t, Service{Mounts: []Mount{{l, nil}}, Routes: append(h.routes(), extra("/a"), extra("/b"))})
		c.do(t, "GET /a").is(t, 200, "ip 9", "default+1:ip 0")
		c.do(t, "GET /b").is(t, 200, "ip 8", "default+2:ip 0")
		c.do(t, "GET /x").is(t, 200, "ip 7")
		c.do(t, "GET /a").is(t, 429).has(t, "Retry-After", "60")
		c.do(t, "GET /x").is(t, 200, "ip 6") // the refusal gave back what the outer level was charged
	},

	"WithPolicy takes its user and keys from its own mount": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))})
		tenants := Policy{core.PerKey("tenant", core.Provided, core.PerMinute(1)), core.PerUser(core.PerMinute(5))}
		route := Route{Method: "GET", Path: "/a", Handler: h.ok, Mounts: []Mount{{l, []Option{tenants, Key{"tenant", byTenant}, User(byUser)}}}}
		c := h.serve(t, Service{Routes: append(h.routes(), route)})
		c.do(t, "GET /a", "X-Tenant: acme", "X-User: ann").is(t, 200, "tenant 0", "user 4")
		c.do(t, "GET /a", "X-Tenant: acme", "X-User: ann").is(t, 429, "tenant 0", "user 4")
		c.do(t, "GET /a", "X-Tenant: none", "X-User: ann").is(t, 200, "user 3")
	},
}
