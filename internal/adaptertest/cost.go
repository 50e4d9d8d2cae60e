package adaptertest

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func byCost(c Call) int64 {
	n, _ := strconv.ParseInt(c.Header("X-Cost"), 10, 64)
	return n
}

// costCases: what a request is charged, and which are not charged at all.
var costCases = group{
	"a request costs what WithCost says": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(10))}), Cost(byCost)))
		c.do(t, "GET /x", "X-Cost: 7").is(t, 200, "ip 3")
		c.do(t, "GET /x", "X-Cost: 4").is(t, 429, "ip 3").has(t, "Retry-After", "6")
		c.do(t, "GET /x", "X-Cost: 3").is(t, 200, "ip 0")
	},

	"a cost of 0 is served and not charged": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute()), Cost(byCost)))
		c.do(t, "GET /x", "X-Cost: 1").is(t, 200, "ip 0")
		for range 3 {
			equal(t, "body", c.do(t, "GET /x", "X-Cost: 0").is(t, 200).bare(t).body, "ok")
		}
		c.do(t, "GET /x", "X-Cost: 1").is(t, 429)
		equal(t, "calls of the handler", h.calls.Load(), 4)
	},

	"a negative cost is refused, and gives nothing": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute()), Cost(byCost)))
		c.do(t, "GET /x", "X-Cost: 1").is(t, 200, "ip 0")
		a := c.do(t, "GET /x", "X-Cost: -5").is(t, http.StatusTooManyRequests).bare(t).has(t, "Content-Type", core.ProblemType)
		if !strings.Contains(a.body, "cost") {
			t.Errorf("%v: want the body to say what is wrong", a)
		}
		c.do(t, "GET /x", "X-Cost: 1").is(t, 429, "ip 0")
		equal(t, "calls of the handler", h.calls.Load(), 1)
	},

	"a cost above the capacity is refused for good, and takes nothing": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(5))}), Cost(byCost)))
		a := c.do(t, "GET /x", "X-Cost: 10").is(t, 429, "ip 5").has(t, "Retry-After", "")
		if !strings.Contains(a.body, "waiting does not help") || !strings.Contains(a.body, `"violated-policies":["ip"]`) {
			t.Errorf("%v: want the body to say that waiting does not help", a)
		}
		c.do(t, "GET /x", "X-Cost: 5").is(t, 200, "ip 0")
	},

	"WithSkip lets through unlimited": func(t *testing.T, h *harness) {
		var w witness
		c := h.serve(t, h.simple(h.limiter(t, append(onePerMinute(), w.level())), Skip(func(c Call) bool { return c.Header("X-Internal") != "" })))
		for range 3 {
			equal(t, "body", c.do(t, "GET /x", "X-Internal: yes").is(t, 200).bare(t).body, "ok")
		}
		c.do(t, "GET /x").is(t, 200, "ip 0")
		c.do(t, "GET /x").is(t, 429)
		c.do(t, "GET /x", "X-Internal: yes").is(t, 200).bare(t)
		equal(t, "requests judged", len(w.requests()), 2)
	},

	"a preflight is neither charged nor refused": func(t *testing.T, h *harness) {
		s := h.simple(h.limiter(t, onePerMinute()))
		s.Routes = append(s.Routes, Route{Method: "OPTIONS", Path: "/x", Handler: h.ok})
		c := h.serve(t, s)
		preflight := []string{"Origin: https://app.example", "Access-Control-Request-Method: POST"}
		c.do(t, "OPTIONS /x", preflight...).is(t, 200).bare(t)
		c.do(t, "GET /x").is(t, 200, "ip 0")
		for range 3 {
			equal(t, "body", c.do(t, "OPTIONS /x", preflight...).is(t, 200).bare(t).body, "ok")
		}
		if a := c.do(t, "OPTIONS /y", preflight...).bare(t); a.status == 429 {
			t.Errorf("%v: refused", a)
		}
	},

	"what only looks like a preflight is charged": func(t *testing.T, h *harness) {
		origin, asks := "Origin: https://app.example", "Access-Control-Request-Method: POST"
		for _, look := range [][]string{{"OPTIONS /opt"}, {"OPTIONS /opt", origin}, {"OPTIONS /opt", asks}, {"HEAD /opt"}, {"HEAD /opt", origin, asks}, {"GET /x", origin, asks}, {"POST /x", origin, asks}} {
			s := h.simple(limiterOver(t, h.anotherStore(t), onePerMinute()))
			s.Routes = append(s.Routes, Route{Method: "OPTIONS", Path: "/opt", Handler: h.ok}, Route{Method: "HEAD", Path: "/opt", Handler: h.ok})
			c := h.serve(t, s)
			c.do(t, look[0], look[1:]...).is(t, 200, "ip 0")
			c.do(t, look[0], look[1:]...).is(t, 429, "ip 0")
		}
	},
}
