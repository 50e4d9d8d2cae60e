package adaptertest

import (
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// abnormal is how the body of a refusal begins that a ban makes.
const abnormal = `{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected",` +
	`"title":"Request not satisfied due to detection of abnormal request pattern","status":429`

// banning lets each address pass once an hour, and bans it for two hours after two denials.
func banning() core.Policy {
	level := core.PerIP(core.PerHour(1))
	level.Ban = core.Ban{After: 2, Within: time.Hour, For: 2 * time.Hour}
	return core.Policy{level}
}

// banCases: who is denied again and again is refused for that, and told how long.
var banCases = group{
	"denials become a ban with a problem type and a wait of its own": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, banning())))
		c.do(t, "GET /x").is(t, 200, "ip 0")
		for range 2 {
			c.do(t, "GET /x").is(t, 429, "ip 0").has(t, "Retry-After", "3600")
		}
		for range 2 {
			a := c.do(t, "GET /x").is(t, 429, "ip 0").has(t, "Retry-After", "7200")
			if !strings.HasPrefix(a.body, abnormal) {
				t.Errorf("body is %s, want it to begin with %s", a.body, abnormal)
			}
		}
		equal(t, "calls of the handler", h.calls.Load(), 1)
	},

	"a deny handler of one's own is told of the ban": func(t *testing.T, h *harness) {
		decisions := make(chan core.Decision, 3)
		c := h.serve(t, h.simple(h.limiter(t, banning()), Deny(func(c Call, d core.Decision) error {
			decisions <- d
			return teapot(c, d)
		})))
		c.do(t, "GET /x").is(t, 200, "ip 0")
		for _, want := range []core.Reason{core.Quota, core.Quota, core.Banned} {
			c.do(t, "GET /x").is(t, 418)
			equal(t, "reason", receive(t, decisions).Reason, want)
		}
	},
}
