package adaptertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// mistakes are mounts that cannot be made, by what the panic must name.
func mistakes(good *core.Limiter) map[string]Mount {
	mount := func(opts ...Option) Mount { return Mount{good, opts} }
	key := func(Call) (string, bool) { return "k", true }
	return map[string]Mount{
		"limiter":                 {nil, nil},
		"option":                  mount(nil),
		"WithUser":                mount(User(nil)),
		"WithKey":                 mount(Key{"ip", nil}),
		`WithKey "nope"`:          mount(Key{"nope", key}),
		"WithCost":                mount(Cost(nil)),
		"WithSkip":                mount(Skip(nil)),
		"WithMaxDelay -1s":        mount(MaxDelay(-time.Second)),
		"WithPolicy":              mount(Policy(nil)),
		"WithPolicy empty":        mount(Policy{}),
		`WithPolicy "ip" quota`:   mount(Policy{core.PerIP(core.PerMinute(0))}),
		`WithPolicy "Bad" name`:   mount(Policy{core.PerKey("Bad", core.Provided, core.PerMinute(1))}),
		"WithDeny":                mount(Deny(nil)),
		"WithRefundOn":            mount(RefundOn(nil)),
		"WithUser WithCost":       mount(User(nil), Cost(nil)),
		`WithKey "user"`:          mount(Key{"user", key}, Policy{core.PerIP(core.PerMinute(1))}),
		"WithUser WithPolicy":     mount(User(nil), Policy{}),
		`WithKey "ip" WithPolicy`: mount(Key{"ip", nil}, Policy{core.PerIP(core.PerMinute(0))}),
	}
}

// constructionCases: what is wrong is said when the middleware is made, never later.
var constructionCases = group{
	"a mistake is a panic that names the option": func(t *testing.T, h *harness) {
		for names, mount := range mistakes(h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1)), core.PerUser(core.PerMinute(1))})) {
			t.Run(names, func(t *testing.T) {
				told := h.panics(mount)
				if !strings.HasPrefix(told, h.adapter.Name+": ") {
					t.Errorf("panic is %q, want it to begin with the package", told)
				}
				for name := range strings.FieldsSeq(names) {
					if !strings.Contains(told, name) {
						t.Errorf("panic is %q, want it to name %s", told, name)
					}
				}
			})
		}
	},

	"values at the edge of what is valid are none": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1))})
		key := func(Call) (string, bool) { return "k", true }
		for name, opts := range map[string][]Option{
			"no options":                      nil,
			"a max delay of 0":                {MaxDelay(0)},
			"nobody's proxies":                {Proxies{}},
			"a key for a level of WithPolicy": {Policy{core.PerKey("tenant", core.Provided, core.PerMinute(1))}, Key{"tenant", key}},
			"the same, key first":             {Key{"tenant", key}, Policy{core.PerKey("tenant", core.Provided, core.PerMinute(1))}},
			"an exempt policy":                {Policy(core.Exempt)},
		} {
			if told := h.panics(Mount{l, opts}); told != "" {
				t.Errorf("%s: panic %q", name, told)
			}
		}
	},

	"a key may be for a level that only a route has": func(t *testing.T, h *harness) {
		l := h.limiter(t, core.Policy{core.PerIP(core.PerMinute(1))},
			core.WithRoute("GET /x", core.Policy{core.PerKey("tenant", core.Provided, core.PerMinute(1))}))
		if told := h.panics(Mount{l, []Option{Key{"tenant", func(Call) (string, bool) { return "", false }}}}); told != "" {
			t.Errorf("panic %q", told)
		}
	},
}

// panics builds a service with the mount and returns the panic, "" for none.
func (h *harness) panics(m Mount) (told string) {
	defer func() {
		if v := recover(); v != nil {
			told = fmt.Sprint(v)
		}
	}()
	_ = h.adapter.Build(Service{Mounts: []Mount{m}, Routes: h.routes()})
	return ""
}
