package adaptertest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func perIP(n int64, mode core.FailureMode) core.Policy {
	level := core.PerIP(core.PerMinute(n))
	level.OnFailure = mode
	return core.Policy{level}
}

const reducedCapacity = `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints","status":503,"violated-policies":["ip"]}`

// failureCases: a store that does not answer is never the client's fault.
var failureCases = group{
	"an Open level admits, and invents no headers": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(limiterOver(t, broken(), perIP(1, core.Open))))
		for range 3 {
			equal(t, "body", c.do(t, "GET /x").is(t, 200).bare(t).body, "ok")
		}
		equal(t, "calls of the handler", h.calls.Load(), 3)
	},

	"a Closed level refuses with 503, and invents no headers": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(limiterOver(t, broken(), perIP(1, core.Closed))))
		a := c.do(t, "GET /x").is(t, http.StatusServiceUnavailable).bare(t).has(t, "Content-Type", core.ProblemType)
		equal(t, "body", a.body, reducedCapacity)
		equal(t, "calls of the handler", h.calls.Load(), 0)
	},

	"a Closed level refuses through a deny handler of one's own, too": func(t *testing.T, h *harness) {
		decisions := make(chan core.Decision, 1)
		c := h.serve(t, h.simple(limiterOver(t, broken(), perIP(1, core.Closed)), Deny(func(c Call, d core.Decision) error {
			decisions <- d
			return c.Reply(d.Status(), textType, "later")
		})))
		c.do(t, "GET /x").is(t, http.StatusServiceUnavailable).bare(t)
		told := receive(t, decisions)
		equal(t, "reason", told.Reason, core.StoreFailed)
		equal(t, "there is an error", told.Err != nil, true)
	},

	"a Local level whose local half fails admits, and invents no headers": func(t *testing.T, h *harness) {
		store := broken()
		store.local = true
		c := h.serve(t, h.simple(limiterOver(t, store, perIP(1, core.Local))))
		for range 3 {
			c.do(t, "GET /x").is(t, 200).bare(t)
		}
	},

	"a level that can be judged is shown and held while another cannot": func(t *testing.T, h *harness) {
		half := &scripted{local: true, take: func(_ context.Context, out []core.Outcome) error {
			out[0] = core.Outcome{Source: core.FromNothing, Err: errScripted}
			out[1] = core.Outcome{Source: core.FromLocal, Remaining: 0, RetryAfter: 1, ResetAfter: 1}
			return nil
		}}
		c := h.serve(t, h.simple(limiterOver(t, half, append(perIP(1, core.Open), core.PerUser(core.PerMinute(1)))), User(byUser)))
		a := c.do(t, "GET /x", "X-User: ann").is(t, 429, "user 0").has(t, "Retry-After", "1")
		if !strings.Contains(a.body, `"violated-policies":["user"]`) {
			t.Errorf("%v: want the user level to be named alone", a)
		}
	},

	"a store that comes back is used again": func(t *testing.T, h *harness) {
		store := broken()
		c := h.serve(t, h.simple(limiterOver(t, store, perIP(9, core.Closed))))
		c.do(t, "GET /x").is(t, 503)
		store.take = delaying(0).take // no request is under way
		c.do(t, "GET /x").is(t, 200, "ip 5")
	},

	"a closed limiter follows OnFailure": func(t *testing.T, h *harness) {
		l := h.limiter(t, perIP(1, core.Closed))
		c := h.serve(t, h.simple(l))
		c.do(t, "GET /x").is(t, 200, "ip 0")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		c.do(t, "GET /x").is(t, 503).bare(t)
	},
}
