package adaptertest

import (
	"net/http"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func onePerMinute() core.Policy { return core.Policy{core.PerIP(core.PerMinute(1))} }

// denialCases: what happens, and does not, where a request is refused.
var denialCases = group{
	"the handler runs once if admitted and never if not": func(t *testing.T, h *harness) {
		for i, opts := range [][]Option{nil, {RefundOn(func(int) bool { return false })}, {Deny(teapot)}} {
			h.calls.Store(0)
			l := limiterOver(t, h.anotherStore(t), core.Policy{core.PerIP(core.PerMinute(3))})
			c := h.serve(t, h.simple(l, opts...))
			for range 3 {
				equal(t, "body", c.do(t, "GET /x").is(t, 200).body, "ok")
			}
			for range 3 {
				if a := c.do(t, "GET /x"); a.status < 400 || a.body == "ok" {
					t.Errorf("options %d: %v", i, a)
				}
			}
			equal(t, "calls of the handler", h.calls.Load(), 3)
		}
	},

	"a group's and a route's own middleware refuse as one mounted app-wide does": func(t *testing.T, h *harness) {
		route := Route{Method: "GET", Path: "/r", Handler: h.ok, Mounts: []Mount{{h.limiter(t, onePerMinute(), core.WithName("route")), nil}}}
		inGroup := Route{Method: "GET", Path: "/x", Handler: h.ok}
		g := Group{Prefix: "/g", Mounts: []Mount{{h.limiter(t, onePerMinute(), core.WithName("group")), nil}}, Routes: []Route{inGroup}}
		c := h.serve(t, Service{Routes: append(h.routes(), route), Groups: []Group{g}})
		for _, line := range []string{"GET /r", "GET /g/x"} {
			c.do(t, line).is(t, 200, "ip 0")
			c.do(t, line).is(t, 429, "ip 0").has(t, "Retry-After", "60").has(t, "Content-Type", core.ProblemType)
		}
		c.do(t, "GET /x").is(t, 200).bare(t)
		equal(t, "calls of the handler", h.calls.Load(), 3)
	},

	"a deny handler of one's own answers, with the headers already set": func(t *testing.T, h *harness) {
		decisions := make(chan core.Decision, 1)
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute()), Deny(func(c Call, d core.Decision) error {
			decisions <- d
			return teapot(c, d)
		})))
		c.do(t, "GET /x").is(t, 200)
		a := c.do(t, "GET /x").is(t, http.StatusTeapot, "ip 0").has(t, "Retry-After", "60").has(t, "Content-Type", textType)
		equal(t, "body", a.body, "short and stout")
		told := receive(t, decisions)
		equal(t, "reason", told.Reason, core.Quota)
		equal(t, "level", told.Level, "ip")
		equal(t, "calls of the handler", h.calls.Load(), 1)
	},

	"a deny handler that leaves it to the framework's error handler keeps the headers": func(t *testing.T, h *harness) {
		h.needs(t, ErrorHandler)
		s := h.simple(h.limiter(t, onePerMinute()), Deny(func(c Call, _ core.Decision) error { return c.Fail(429) }))
		s.OnError = `{"error":"slow down"}`
		c := h.serve(t, s)
		c.do(t, "GET /x").is(t, 200)
		a := c.do(t, "GET /x").is(t, 429, "ip 0").has(t, "Retry-After", "60")
		equal(t, "body", a.body, s.OnError)
	},

	"an application's error handler does not touch the problem document": func(t *testing.T, h *harness) {
		h.needs(t, ErrorHandler)
		s := h.simple(h.limiter(t, onePerMinute()))
		s.OnError = `{"error":"slow down"}`
		c := h.serve(t, s)
		c.do(t, "GET /x").is(t, 200)
		c.do(t, "GET /x").is(t, 429, "ip 0").has(t, "Retry-After", "60").has(t, "Content-Type", core.ProblemType)
	},

	"headers of an outer middleware are on refusals too": func(t *testing.T, h *harness) {
		for _, opts := range [][]Option{nil, {Deny(teapot)}} {
			s := h.simple(limiterOver(t, h.anotherStore(t), onePerMinute()), opts...)
			s.Outer = map[string]string{"Access-Control-Allow-Origin": "https://app.example", "Vary": "Origin"}
			c := h.serve(t, s)
			for range 2 {
				c.do(t, "GET /x", "Origin: https://app.example").
					has(t, "Access-Control-Allow-Origin", "https://app.example").has(t, "Vary", "Origin")
			}
		}
	},

	"a connection that was refused goes on": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute())))
		c.times(t, 20, 1, "POST /x")
		equal(t, "connections", c.dials.Load(), 1)
	},
}

func teapot(c Call, _ core.Decision) error {
	return c.Reply(http.StatusTeapot, textType, "short and stout")
}
