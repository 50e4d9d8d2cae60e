package adaptertest

import (
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// refundCases: WithRefundOn judges the status of the answer, once.
var refundCases = group{
	"to count failures only": func(t *testing.T, h *harness) {
		s := &statuses{rule: successes}
		c, l := h.refunding(t, s, 2)
		for range 4 {
			c.do(t, "GET /by", "X-Answer: 200").is(t, 200, "ip 1")
			wantLeft(t, l, 2)
		}
		c.do(t, "GET /by", "X-Answer: 401").is(t, 401, "ip 1")
		c.do(t, "GET /by", "X-Answer: 401").is(t, 401, "ip 0")
		c.do(t, "GET /by", "X-Answer: 200").is(t, 429, "ip 0")
		s.want(t, 200, 200, 200, 200, 401, 401)
	},

	"to count successes only": func(t *testing.T, h *harness) {
		s := &statuses{rule: failures}
		c, l := h.refunding(t, s, 2)
		for range 4 {
			c.do(t, "GET /by", "X-Answer: 500").is(t, 500, "ip 1")
			wantLeft(t, l, 2)
		}
		c.do(t, "GET /by", "X-Answer: 201").is(t, 201, "ip 1")
		c.do(t, "GET /by", "X-Answer: 302").is(t, 302, "ip 0")
		c.do(t, "GET /by", "X-Answer: 500").is(t, 429, "ip 0")
		s.want(t, 500, 500, 500, 500, 201, 302)
	},

	"the status is the one that the client gets": func(t *testing.T, h *harness) {
		s := &statuses{rule: func(int) bool { return false }}
		c, _ := h.refunding(t, s, 100)
		c.do(t, "GET /x").is(t, 200)
		c.do(t, "GET /by", "X-Answer: 204").is(t, 204)
		c.do(t, "GET /by", "X-Answer: nothing").is(t, 200)
		c.do(t, "GET /by", "X-Answer: fail").is(t, 403)
		c.do(t, "GET /nowhere").is(t, 404)
		// Whether an error or a panic can still replace an answer is the framework's affair.
		failed := c.do(t, "GET /by", "X-Answer: reply and fail")
		panicked := c.do(t, "GET /by", "X-Answer: reply and panic")
		s.want(t, 200, 204, 200, 403, 404, failed.status, panicked.status)
	},

	"a refused request is not judged": func(t *testing.T, h *harness) {
		s := &statuses{rule: func(int) bool { return false }}
		c, l := h.refunding(t, s, 1)
		c.do(t, "GET /x").is(t, 200)
		s.want(t, 200)
		s.rule = func(int) bool { return true }
		c.times(t, 3, 0, "GET /x")
		wantLeft(t, l, 0)
		s.want(t, 200)
	},

	"a panic is a 500, and goes on to the framework's recovery": func(t *testing.T, h *harness) {
		s := &statuses{rule: failures}
		l := h.limiter(t, core.Policy{core.PerIP(core.PerHour(2))})
		caught := make(chan any, 1)
		service := h.simple(l, RefundOn(s.judge))
		service.Recovered = func(v any) { caught <- v }
		service.Routes = append(service.Routes, Route{Method: "GET", Path: "/by", Handler: h.byStatus})
		c := h.serve(t, service)
		for range 3 {
			c.do(t, "GET /by", "X-Answer: panic").is(t, 500)
			equal(t, "value recovered", receive(t, caught), any("scripted panic"))
			wantLeft(t, l, 2)
		}
		s.want(t, 500, 500, 500)
		c.do(t, "GET /x").is(t, 200, "ip 1")
	},

	"a panic that is not refunded stays charged": func(t *testing.T, h *harness) {
		s := &statuses{rule: successes}
		c, l := h.refunding(t, s, 2)
		c.do(t, "GET /by", "X-Answer: panic").is(t, 500)
		s.want(t, 500)
		wantLeft(t, l, 1)
	},

	"a panic after the answer has begun has that answer's status": func(t *testing.T, h *harness) {
		h.needs(t, HTTPWriter) // elsewhere a stream begins when the handler has ended
		s := &statuses{rule: failures}
		c, l := h.refunding(t, s, 2)
		for i, how := range []string{"stream and panic", "write and panic"} {
			if resp, err := c.send(t.Context(), "GET /by", "X-Answer: "+how); err == nil {
				equal(t, how+": status", resp.StatusCode, 200)
				_ = resp.Body.Close()
			}
			s.want(t, []int{200, 200}[:i+1]...)
		}
		wantLeft(t, l, 0)
	},

	"the handler's own refund or settlement comes first, and no second one follows": func(t *testing.T, h *harness) {
		s := &statuses{rule: successes}
		l := h.limiter(t, core.Policy{core.PerIP(core.PerHour(10))})
		service := h.simple(l, RefundOn(s.judge))
		service.Routes = append(service.Routes, Route{Method: "GET", Path: "/own", Handler: func(c Call) error {
			d, _ := core.FromContext(c.Context())
			if c.Header("X-Actual") == "" {
				_ = d.Refund(c.Context())
				_ = d.Refund(c.Context())
			} else {
				_ = d.Settle(c.Context(), 4)
			}
			return h.ok(c)
		}}, Route{Method: "GET", Path: "/by", Handler: h.byStatus})
		c := h.serve(t, service)
		for range 3 {
			c.do(t, "GET /by", "X-Answer: 400").is(t, 400)
		}
		c.do(t, "GET /own").is(t, 200, "ip 6")
		s.want(t, 400, 400, 400, 200)
		wantLeft(t, l, 7)
		c.do(t, "GET /own", "X-Actual: 4").is(t, 200, "ip 6")
		s.want(t, 400, 400, 400, 200, 200)
		wantLeft(t, l, 3)
	},

	"stacked middlewares judge each for its own charge": func(t *testing.T, h *harness) {
		sa, sb := &statuses{rule: failures}, &statuses{rule: successes}
		a, b := h.limiter(t, core.Policy{core.PerIP(core.PerHour(10))}), h.limiter(t, core.Policy{core.PerIP(core.PerHour(2))}, core.WithName("b"))
		s := h.onRoute([]Mount{{a, []Option{RefundOn(sa.judge)}}}, []Mount{{b, []Option{RefundOn(sb.judge)}}}, nil)
		s.Groups[0].Routes = append(s.Groups[0].Routes, Route{Method: "GET", Path: "/by", Handler: h.byStatus})
		c := h.serve(t, s)
		c.do(t, "GET /g/by", "X-Answer: 200").is(t, 200, "ip 9", "b:ip 1")
		sa.want(t, 200)
		wantLeft(t, a, 9)
		wantLeft(t, b, 2)
		for range 2 {
			c.do(t, "GET /g/by", "X-Answer: 500").is(t, 500)
		}
		sa.want(t, 200, 500, 500)
		wantLeft(t, a, 9)
		wantLeft(t, b, 0)
		c.do(t, "GET /g/by", "X-Answer: 200").is(t, 429)
		sa.want(t, 200, 500, 500, 429) // the inner refusal is an answer like another to the outer one
		wantLeft(t, a, 9)
		sb.want(t, 200, 500, 500)
	},
}
