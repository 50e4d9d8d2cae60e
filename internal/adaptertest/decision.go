package adaptertest

import (
	"fmt"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// found answers with what a decision says, so that the client can check it.
func found(c Call, d core.Decision, ok bool) error {
	return c.Reply(200, textType, fmt.Sprintf("%v %v %s %d", ok, d.Allowed, d.Level, d.Remaining))
}

// withHandler is a service behind a limiter of 10 an hour, whose route "/d" is the handler's.
func (h *harness) withHandler(t *testing.T, handler Handler, opts ...Option) (*client, *core.Limiter) {
	l := h.limiter(t, core.Policy{core.PerIP(core.PerHour(10))}, core.WithRoute("GET /y", core.Exempt))
	s := h.simple(l, opts...)
	s.Routes = append(s.Routes, Route{Method: "GET", Path: "/d", Handler: handler})
	return h.serve(t, s), l
}

// decisionCases: a handler reaches the decision that let it run.
var decisionCases = group{
	"by core.FromContext": func(t *testing.T, h *harness) {
		c, _ := h.withHandler(t, func(c Call) error {
			d, ok := core.FromContext(c.Context())
			return found(c, d, ok)
		})
		equal(t, "found", c.do(t, "GET /d").is(t, 200, "ip 9").body, "true true ip 9")
		equal(t, "found", c.do(t, "GET /d").is(t, 200, "ip 8").body, "true true ip 8")
	},

	"where the framework's users look": func(t *testing.T, h *harness) {
		h.needs(t, DecisionStore)
		c, _ := h.withHandler(t, func(c Call) error {
			d, ok := c.Stored()
			return found(c, d, ok)
		})
		equal(t, "found", c.do(t, "GET /d").is(t, 200, "ip 9").body, "true true ip 9")
	},

	"by its headers, which are set before the handler runs": func(t *testing.T, h *harness) {
		h.needs(t, HTTPWriter)
		c, _ := h.withHandler(t, func(c Call) error {
			return c.Reply(200, textType, c.Writer().Header().Get("RateLimit"))
		})
		equal(t, "seen", c.do(t, "GET /d").is(t, 200).body, `"ip";r=9;t=360`)
	},

	"also a refusal, in a deny handler": func(t *testing.T, h *harness) {
		h.needs(t, DecisionStore)
		c, _ := h.withHandler(t, h.ok, Deny(func(c Call, _ core.Decision) error {
			d, ok := c.Stored()
			return found(c, d, ok)
		}))
		c.times(t, 10, 10, "GET /x")
		equal(t, "found", c.do(t, "GET /x").body, "true false ip 0")
	},

	"and none where the request was not limited": func(t *testing.T, h *harness) {
		c, _ := h.withHandler(t, func(c Call) error {
			d, ok := core.FromContext(c.Context())
			return found(c, d, ok)
		}, Skip(func(Call) bool { return true }))
		equal(t, "found", c.do(t, "GET /d").is(t, 200).bare(t).body, "false false  0")
	},

	"the innermost limiter's, where several stand before it": func(t *testing.T, h *harness) {
		app := h.limiter(t, core.Policy{core.PerIP(core.PerHour(10))})
		group := h.limiter(t, core.Policy{core.PerUser(core.PerHour(5))}, core.WithName("group"))
		s := h.onRoute(mounts(app), []Mount{{group, []Option{User(byUser)}}}, nil)
		s.Groups[0].Routes[0].Handler = func(c Call) error {
			d, ok := core.FromContext(c.Context())
			return found(c, d, ok)
		}
		equal(t, "found", h.serve(t, s).do(t, "GET /g/x", "X-User: ann").body, "true true user 4")
	},

	"to refund it": func(t *testing.T, h *harness) {
		c, l := h.withHandler(t, func(c Call) error {
			d, _ := core.FromContext(c.Context())
			if err := d.Refund(c.Context()); err != nil {
				return err
			}
			return h.ok(c)
		})
		for range 3 {
			c.do(t, "GET /d").is(t, 200, "ip 9")
			wantLeft(t, l, 10)
		}
	},

	"to settle the actual cost": func(t *testing.T, h *harness) {
		c, l := h.withHandler(t, func(c Call) error {
			d, _ := core.FromContext(c.Context())
			if err := d.Settle(c.Context(), byCost(c)); err != nil {
				return err
			}
			return h.ok(c)
		})
		c.do(t, "GET /d", "X-Cost: 4").is(t, 200, "ip 9")
		wantLeft(t, l, 6)
		c.do(t, "GET /d", "X-Cost: 0").is(t, 200, "ip 5")
		wantLeft(t, l, 6)
		c.do(t, "GET /d", "X-Cost: 100").is(t, 200, "ip 5")
		wantLeft(t, l, 0)
	},
}
