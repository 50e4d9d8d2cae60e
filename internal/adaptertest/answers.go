package adaptertest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// The conversation is byte for byte what every adapter answers, but for the date.
const (
	admitted = `200
Content-Length: 2
Content-Type: text/plain; charset=utf-8
Ratelimit: "ip";r=1;t=30, "user";r=4;t=2, "user-2";r=99;t=36, "endpoint";r=999;t=1
Ratelimit-Policy: "ip";q=2;w=60, "user";q=5;w=10, "user-2";q=100;w=3600, "endpoint";q=1000;w=1
X-Ratelimit-Limit: 2
X-Ratelimit-Remaining: 1
X-Ratelimit-Reset: 30
ok`
	lastOne = `200
Content-Length: 2
Content-Type: text/plain; charset=utf-8
Ratelimit: "ip";r=0;t=18, "user";r=4;t=2, "user-2";r=98;t=24, "endpoint";r=999;t=1
Ratelimit-Policy: "ip";q=2;w=60, "user";q=5;w=10, "user-2";q=100;w=3600, "endpoint";q=1000;w=1
X-Ratelimit-Limit: 2
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: 18
ok`
	refused = `429
Content-Length: 187
Content-Type: application/problem+json
Ratelimit: "ip";r=0;t=18, "user";r=4;t=2, "user-2";r=98;t=24, "endpoint";r=999;t=1
Ratelimit-Policy: "ip";q=2;w=60, "user";q=5;w=10, "user-2";q=100;w=3600, "endpoint";q=1000;w=1
Retry-After: 18
X-Ratelimit-Limit: 2
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: 18
{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["ip"]}`
	unknown = `"ip";q=2;w=60`
)

func byUser(c Call) string { return c.Header("X-User") }

// threeLevels has as many shapes of header item as there are.
func threeLevels() core.Policy {
	return core.Policy{
		core.PerIP(core.PerMinute(2)),
		core.PerUser(core.Per(5, 10*time.Second), core.PerHour(100)),
		core.PerEndpoint(core.PerSecond(1000)),
	}
}

// answerCases: what a client reads.
var answerCases = group{
	"one conversation, byte for byte": func(t *testing.T, h *harness) {
		l := h.limiter(t, threeLevels(), core.WithHeaders(core.RateLimit, core.XRateLimitDelta))
		c := h.serve(t, h.simple(l, User(byUser)))
		equal(t, "admitted", c.do(t, "GET /items/1", "X-User: ann").text(), admitted)
		h.clock.Advance(12500 * time.Millisecond)
		equal(t, "the last one", c.do(t, "GET /items/2", "X-User: ann").text(), lastOne)
		equal(t, "refused", c.do(t, "GET /items/3", "X-User: ann").text(), refused)
		c.do(t, "GET /nowhere", "X-User: ann").is(t, http.StatusTooManyRequests, "ip 0", "user 4", "user-2 98").
			has(t, "X-RateLimit-Remaining", "0")
		h.clock.Advance(18 * time.Second)
		c.do(t, "GET /nowhere").is(t, http.StatusNotFound, "ip 0").has(t, "RateLimit-Policy", unknown)
	},

	"every header stands once, whatever its case, on the wire": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1))}, core.WithHeaders(core.RateLimit, core.XRateLimitEpoch))
		c := h.serve(t, h.simple(l))
		for _, want := range []string{"200", "429"} {
			response := strings.ToLower(c.raw(t, "GET /x"))
			if !strings.HasPrefix(response, "http/1.1 "+want) {
				t.Fatalf("want %s: %q", want, response)
			}
			for _, name := range []string{"ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "content-type", "content-length"} {
				equal(t, name+" lines on "+want, strings.Count(response, "\r\n"+name+":"), 1)
			}
		}
	},

	"the numbers are the same on an admission and on a denial": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1))}, core.WithHeaders(core.RateLimitDraft06, core.XRateLimitDelta))
		c := h.serve(t, h.simple(l))
		last, denied := c.do(t, "GET /x").is(t, 200), c.do(t, "GET /x").is(t, 429)
		for name := range last.header {
			if ours(name) {
				denied.has(t, name, last.header.Get(name))
			}
		}
		last.has(t, "RateLimit-Reset", "60").has(t, "X-RateLimit-Reset", "60")
	},

	"Retry-After is on denials only": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.Per(1, 1500*time.Millisecond))})))
		c.do(t, "GET /x").is(t, 200).has(t, "Retry-After", "")
		c.do(t, "GET /x").is(t, 429).has(t, "Retry-After", "2")
		h.clock.Advance(1400 * time.Millisecond)
		c.do(t, "GET /x").is(t, 429).has(t, "Retry-After", "1")
		h.clock.Advance(100 * time.Millisecond)
		c.do(t, "POST /x").is(t, 200).has(t, "Retry-After", "")
	},

	"without header formats a denial has Retry-After alone": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1))}, core.WithHeaders())))
		c.do(t, "GET /x").is(t, 200).bare(t)
		a := c.do(t, "GET /x").is(t, 429).has(t, "Retry-After", "60")
		a.header.Del("Retry-After")
		a.bare(t)
	},

	"a refused HEAD has the headers of a refused GET and no body": func(t *testing.T, h *harness) {
		s := h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1))}))
		s.Routes = append(s.Routes, Route{Method: "HEAD", Path: "/head", Handler: h.ok})
		c := h.serve(t, s)
		c.do(t, "GET /x").is(t, 200)
		get, head := c.do(t, "GET /x").is(t, 429), c.do(t, "HEAD /head").is(t, 429)
		head.body = get.body // a client never shows one; the wire below does
		equal(t, "refused HEAD", head.text(), get.text())
		if _, body, ok := strings.Cut(c.raw(t, "HEAD /head"), "\r\n\r\n"); !ok || body != "" {
			t.Errorf("on the wire the headers are followed by %q", body)
		}
		equal(t, "calls of the handler", h.calls.Load(), 1)
	},
}
