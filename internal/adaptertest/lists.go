package adaptertest

import (
	"net/netip"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// forbidden is byte for byte what a request on the deny list is answered, but for the date.
const forbidden = `403
Content-Length: 120
Content-Type: application/problem+json
{"type":"about:blank","title":"Forbidden","status":403,"detail":"The request is on a deny list; waiting does not help."}`

// lists are three lists that name one address, one user and one endpoint.
func lists() map[string]core.List {
	return map[string]core.List{
		"address":  {IPs: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28")}},
		"user":     {Users: []string{"ann"}},
		"endpoint": {Endpoints: []string{"GET /items/{id}"}},
	}
}

// listCases: who is on a list is exempt, or refused, before anything is counted.
var listCases = group{
	"the allow-listed are served without a header and not counted": func(t *testing.T, h *harness) {
		for name, list := range lists() {
			store := h.anotherStore(t)
			l := limiterOver(t, store, core.Policy{core.PerIP(core.PerMinute(1))}, core.WithAllowList(list), core.WithHeaders(core.RateLimit, core.XRateLimitDelta))
			c := h.serve(t, h.simple(l, User(byUser))).from(t, "192.0.2.7:1000")
			for range 3 {
				equal(t, name+": body", c.do(t, "GET /items/7", "X-User: ann").is(t, 200).bare(t).body, "ok")
			}
			equal(t, name+": buckets", store.Stats().Entries, 0)
			other := c.from(t, "192.0.2.16:1000")
			other.do(t, "GET /x", "X-User: bob").is(t, 200, "ip 0")
			other.do(t, "GET /x", "X-User: bob").is(t, 429, "ip 0")
		}
	},

	"the deny-listed are refused before the handler and without a wait": func(t *testing.T, h *harness) {
		for name, list := range lists() {
			h.calls.Store(0)
			store := h.anotherStore(t)
			l := limiterOver(t, store, core.Policy{core.PerIP(core.PerMinute(1))}, core.WithDenyList(list),
				core.WithRoute("GET /items/{id}", core.Exempt), core.WithHeaders(core.RateLimit, core.XRateLimitDelta))
			c := h.serve(t, h.simple(l, User(byUser))).from(t, "192.0.2.7:1000")
			for range 3 {
				equal(t, name, c.do(t, "GET /items/7", "X-User: ann").bare(t).text(), forbidden)
			}
			equal(t, name+": calls of the handler", h.calls.Load(), 0)
			equal(t, name+": buckets", store.Stats().Entries, 0)
			c.from(t, "192.0.2.16:1000").do(t, "GET /x", "X-User: bob").is(t, 200, "ip 0")
		}
	},

	"a deny handler of one's own is told the reason": func(t *testing.T, h *harness) {
		decisions := make(chan core.Decision, 1)
		l := h.limiter(t, onePerMinute(), core.WithDenyList(core.List{Users: []string{"ann"}}))
		c := h.serve(t, h.simple(l, User(byUser), Deny(func(c Call, d core.Decision) error {
			decisions <- d
			return teapot(c, d)
		})))
		c.do(t, "GET /x", "X-User: ann").is(t, 418).bare(t)
		told := receive(t, decisions)
		equal(t, "reason", told.Reason, core.Listed)
		equal(t, "status", told.Status(), 403)
	},

	"a list of an inner limiter gives back what the outer one has charged": func(t *testing.T, h *harness) {
		outer := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(5))})
		inner := h.limiter(t, onePerMinute(), core.WithName("inner"), core.WithDenyList(core.List{Endpoints: []string{"GET /g/x"}}))
		c := h.serve(t, h.onRoute(mounts(outer), mounts(inner), nil))
		c.do(t, "GET /g/x").is(t, 403, "ip 5").has(t, "Retry-After", "")
		equal(t, "calls of the handler", h.calls.Load(), 0)
	},

	"a list changed at run time holds from the next request on": func(t *testing.T, h *harness) {
		l := h.limiter(t, onePerMinute())
		c := h.serve(t, h.simple(l))
		c.do(t, "GET /x").is(t, 200, "ip 0")
		loopbacks := core.List{IPs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		for _, row := range []struct {
			opt    core.Option
			status int
		}{{core.WithDenyList(loopbacks), 403}, {core.WithDenyList(core.List{}), 429}, {core.WithAllowList(loopbacks), 200}} {
			if err := l.SetPolicy(onePerMinute(), row.opt); err != nil {
				t.Fatal(err)
			}
			c.do(t, "GET /x").is(t, row.status)
		}
	},
}
