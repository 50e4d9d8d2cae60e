package adaptertest

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// onRoute is a service with mounts app-wide, in the group "/g" and on its route "/g/x".
func (h *harness) onRoute(app, group, route []Mount) Service {
	r := Route{Method: "GET", Path: "/x", Handler: h.ok, Mounts: route}
	return Service{Mounts: app, Routes: h.routes(), Groups: []Group{{Prefix: "/g", Mounts: group, Routes: []Route{r}}}}
}

func mounts(limiters ...*core.Limiter) []Mount {
	var out []Mount
	for _, l := range limiters {
		out = append(out, Mount{l, nil})
	}
	return out
}

// stackedCases: several middlewares on one request are one answer.
var stackedCases = group{
	"one limiter mounted twice charges once": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}, core.WithHeaders(core.RateLimit, core.XRateLimitDelta))
		for _, s := range []Service{h.onRoute(mounts(l), mounts(l), nil), h.onRoute(mounts(l, l), mounts(l), mounts(l))} {
			if err := l.Reset(t.Context(), core.Request{IP: loopback}); err != nil {
				t.Fatal(err)
			}
			h.calls.Store(0)
			c := h.serve(t, s)
			c.do(t, "GET /g/x").is(t, 200).has(t, "RateLimit", `"ip";r=9;t=6`).has(t, "X-RateLimit-Remaining", "9")
			c.times(t, 12, 9, "GET /g/x")
			equal(t, "calls of the handler", h.calls.Load(), 10)
		}
	},

	"two limiters charge both and give one set of headers, the tighter one's": func(t *testing.T, h *harness) {
		formats := core.WithHeaders(core.RateLimit, core.XRateLimitDelta)
		wide := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(100))}, formats)
		tight := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}, formats, core.WithName("tight"))
		c := h.serve(t, h.onRoute(mounts(wide), mounts(tight), nil))
		c.do(t, "GET /g/x").is(t, 200).
			has(t, "RateLimit", `"ip";r=99;t=1, "tight:ip";r=9;t=6`).
			has(t, "RateLimit-Policy", `"ip";q=100;w=60, "tight:ip";q=10;w=60`).
			has(t, "X-RateLimit-Limit", "10").has(t, "X-RateLimit-Remaining", "9").has(t, "X-RateLimit-Reset", "6")
		c.do(t, "GET /x").is(t, 200, "ip 98").has(t, "X-RateLimit-Limit", "100")
	},

	"the outer limiter's numbers are shown where they are the tighter": func(t *testing.T, h *harness) {
		formats := core.WithHeaders(core.XRateLimitDelta)
		tight := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}, formats)
		wide := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(100))}, formats, core.WithName("wide"))
		c := h.serve(t, h.onRoute(mounts(tight), mounts(wide), nil))
		c.do(t, "GET /g/x").is(t, 200).has(t, "X-RateLimit-Limit", "10").has(t, "X-RateLimit-Remaining", "9")
	},

	"a later refusal gives back what earlier limiters charged": func(t *testing.T, h *harness) {
		app := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))})
		group := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}, core.WithName("group"))
		route := h.limiter(t, onePerMinute(), core.WithName("route"))
		s := h.onRoute(mounts(app), mounts(group), mounts(route))
		s.Groups[0].Routes = append(s.Groups[0].Routes, Route{Method: "GET", Path: "/other", Handler: h.ok})
		c := h.serve(t, s)
		c.do(t, "GET /g/x").is(t, 200, "ip 9", "group:ip 9", "route:ip 0")
		for range 5 {
			a := c.do(t, "GET /g/x").is(t, 429).has(t, "Retry-After", "60")
			equal(t, "lines of RateLimit", len(a.header.Values("RateLimit")), 1)
			if !strings.Contains(a.body, `"violated-policies":["route:ip"]`) {
				t.Errorf("%v: want the route's limit to be named alone", a)
			}
		}
		c.do(t, "GET /g/other").is(t, 200, "ip 8", "group:ip 8")
		equal(t, "calls of the handler", h.calls.Load(), 2)
	},

	"an earlier refusal leaves later limiters alone": func(t *testing.T, h *harness) {
		app := h.limiter(t, onePerMinute())
		group := h.limiter(t, core.Policy{core.PerIP(core.PerDay(10))}, core.WithName("group"))
		s := h.onRoute(mounts(app), mounts(group), nil)
		c := h.serve(t, s)
		c.do(t, "GET /g/x").is(t, 200, "ip 0", "group:ip 9")
		c.do(t, "GET /g/x").is(t, 429, "ip 0")
		h.clock.Advance(minute)
		c.do(t, "GET /g/x").is(t, 200, "ip 0", "group:ip 8")
	},

	"a limiter between two mounts of another is charged once as well": func(t *testing.T, h *harness) {
		a := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))})
		b := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(5))}, core.WithName("b"))
		c := h.serve(t, h.onRoute(mounts(a, b), mounts(a), mounts(b)))
		c.do(t, "GET /g/x").is(t, 200, "ip 9", "b:ip 4")
		c.do(t, "GET /g/x").is(t, 200, "ip 8", "b:ip 3")
	},

	"an exempt route of one limiter still pays the other": func(t *testing.T, h *harness) {
		app := h.limiter(t, onePerMinute(), core.WithRoute("GET /g/x", core.Exempt))
		group := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(2))}, core.WithName("group"))
		c := h.serve(t, h.onRoute(mounts(app), mounts(group), nil))
		c.do(t, "GET /g/x").is(t, 200, "group:ip 1")
		c.do(t, "GET /g/x").is(t, 200, "group:ip 0")
		c.do(t, "GET /g/x").is(t, http.StatusTooManyRequests, "group:ip 0")
	},

	"a dry run in front changes no answer": func(t *testing.T, h *harness) {
		var wouldDeny, denied atomic.Int64
		level := core.PerIP(core.PerHour(1))
		level.Shadow = true
		dry := h.limiter(t, core.Policy{level}, core.WithName("dry"), core.WithObserver(func(d core.Decision) {
			if d.Levels()[0].Denied {
				wouldDeny.Add(1)
			}
		}))
		enforced := h.limiter(t, core.Policy{core.PerIP(core.PerHour(5))}, core.WithName("enforced"), core.WithObserver(func(d core.Decision) {
			if !d.Allowed {
				denied.Add(1)
			}
		}))
		c := h.serve(t, h.onRoute(mounts(dry), mounts(enforced), nil))
		for range 3 {
			c.do(t, "GET /x").is(t, 200).bare(t)
		}
		c.do(t, "GET /g/x").is(t, 200, "enforced:ip 4")
		c.times(t, 9, 4, "GET /g/x")
		equal(t, "would-be denials", wouldDeny.Load(), 12)
		equal(t, "denials", denied.Load(), 5)
	},
}
