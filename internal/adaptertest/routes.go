package adaptertest

import (
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// routeCases: a route's override of the policy reaches the route, whatever the spelling.
var routeCases = group{
	"an override holds on its route, in either spelling": func(t *testing.T, h *harness) {
		for _, spelling := range []string{"GET /items/:id", "GET /items/{id}", "* /items/:id", "* /items/{id}"} {
			l := limiterOver(t, h.anotherStore(t), core.Policy{core.PerIP(core.PerMinute(10))},
				core.WithRoute(spelling, core.Policy{core.PerIP(core.PerMinute(1))}))
			c := h.serve(t, h.simple(l))
			c.do(t, "GET /items/1").is(t, 200, "ip 0")
			c.do(t, "GET /items/2").is(t, 429, "ip 0")
			c.do(t, "GET /x").is(t, 200, "ip 9")
			if unseen := l.UnseenRoutes(); len(unseen) > 0 {
				t.Errorf("%s: route was never seen", spelling)
			}
		}
	},

	"an override is for its method only": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}, core.WithRoute("POST /x", core.Policy{core.PerIP(core.PerMinute(1))}))
		c := h.serve(t, h.simple(l))
		c.do(t, "GET /x").is(t, 200, "ip 9")
		c.do(t, "POST /x").is(t, 200, "ip 0")
		c.do(t, "POST /x").is(t, 429, "ip 0")
		c.do(t, "GET /x").is(t, 200, "ip 8")
	},

	"an override without a method is for each": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}, core.WithRoute("* /x", core.Policy{core.PerIP(core.PerMinute(2))}))
		c := h.serve(t, h.simple(l))
		c.do(t, "GET /x").is(t, 200, "ip 1")
		c.do(t, "POST /x").is(t, 200, "ip 0")
		c.do(t, "GET /y").is(t, 200, "ip 9")
	},

	"an override reaches a route in a group": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}, core.WithRoute("GET /g/z/{id}", core.Policy{core.PerIP(core.PerMinute(1))}))
		s := h.simple(l)
		s.Groups = []Group{{Prefix: "/g", Routes: []Route{{Method: "GET", Path: "/z/:id", Handler: h.ok}}}}
		c := h.serve(t, s)
		c.do(t, "GET /g/z/1").is(t, 200, "ip 0")
		c.do(t, "GET /g/z/2").is(t, 429, "ip 0")
	},

	"other levels are inherited, and Unlimited switches one off": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1)), core.PerUser(core.PerMinute(5))},
			core.WithRoute("GET /y", core.Policy{core.PerIP(core.Unlimited)}))
		c := h.serve(t, h.simple(l, User(byUser)))
		c.do(t, "GET /x", "X-User: ann").is(t, 200, "ip 0", "user 4")
		c.do(t, "GET /y", "X-User: ann").is(t, 200, "user 3")
		c.do(t, "GET /x", "X-User: ann").is(t, 429, "ip 0", "user 3")
	},

	"an exempt route is served without a header": func(t *testing.T, h *harness) {
		l := h.limiter(t, onePerMinute(), core.WithRoute("GET /y", core.Exempt))
		c := h.serve(t, h.simple(l))
		c.do(t, "GET /x").is(t, 200, "ip 0")
		for range 3 {
			equal(t, "body", c.do(t, "GET /y").is(t, 200).bare(t).body, "ok")
		}
		c.do(t, "GET /x").is(t, 429, "ip 0")
		equal(t, "buckets", h.store.Stats().Entries, 1)
	},

	"a policy changed at run time holds from the next request on": func(t *testing.T, h *harness) {
		l := h.limiter(t, onePerMinute())
		c := h.serve(t, h.simple(l))
		c.do(t, "GET /x").is(t, 200, "ip 0")
		c.do(t, "GET /x").is(t, 429, "ip 0")
		if err := l.SetPolicy(core.Policy{core.PerIP(core.PerSecond(5))}, core.WithRoute("GET /y", core.Exempt)); err != nil {
			t.Fatal(err)
		}
		c.do(t, "GET /x").is(t, 200, "ip 4")
		c.do(t, "GET /y").is(t, 200).bare(t)
	},
}
