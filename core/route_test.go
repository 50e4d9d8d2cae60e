package core_test

import (
	"slices"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func at(endpoint string) core.Request { return on("192.0.2.1", "u", endpoint) }

// parts are the levels that a request meets, with their capacities.
func parts(l *core.Limiter, r core.Request) map[string]int64 {
	out := map[string]int64{}
	for _, part := range l.Peek(ctx, r).Levels() {
		out[part.Level] = part.Limit.Capacity()
	}
	return out
}

func sameParts(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: levels %v, want %v", what, got, want)
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: levels %v, want %v", what, got, want)
		}
	}
}

func TestRouteOverridesByNameAndInheritsTheRest(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(10)), core.PerUser(core.PerHour(20)), core.PerEndpoint(core.PerHour(30))},
		core.WithRoute("POST /login", core.Policy{core.PerIP(core.PerHour(2)), core.Global(core.PerHour(5))}),
		core.WithRoute("GET /free", core.Policy{core.PerUser(core.Unlimited)}),
		core.WithRoute("GET /healthz", core.Exempt),
		core.WithRoute("POST /off", core.Policy{core.PerEndpoint(core.BlockAll)}),
	)
	sameParts(t, "elsewhere", parts(l, at("GET /")), map[string]int64{"ip": 10, "user": 20, "endpoint": 30})
	sameParts(t, "no route", parts(l, at("")), map[string]int64{"ip": 10, "user": 20})
	sameParts(t, "override", parts(l, at("POST /login")), map[string]int64{"ip": 2, "user": 20, "endpoint": 30, "global": 5})
	sameParts(t, "switched off", parts(l, at("GET /free")), map[string]int64{"ip": 10, "endpoint": 30})
	sameParts(t, "exempt", parts(l, at("GET /healthz")), nil)
	sameParts(t, "another method", parts(l, at("GET /login")), map[string]int64{"ip": 10, "user": 20, "endpoint": 30})
	if d := l.Check(ctx, at("GET /healthz")); !d.Allowed || d.Source != core.FromExempt || len(lines(d)) != 0 {
		t.Errorf("exempt: %+v", d)
	}
	if d := l.Check(ctx, at("POST /off")); d.Allowed || d.Level != "endpoint" {
		t.Errorf("blocked: %+v", d)
	}
	names := func(r core.Request) (out []string) {
		for _, part := range l.Peek(ctx, r).Levels() {
			out = append(out, part.Level)
		}
		return out
	}
	if got := names(at("POST /login")); !slices.Equal(got, []string{"ip", "user", "endpoint", "global"}) {
		t.Errorf("order of levels is %v", got)
	}
}

func TestRouteCountsItsOwnLevelsApart(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(10)), core.PerUser(core.PerHour(20))},
		core.WithRoute("POST /login", core.Policy{core.PerIP(core.PerHour(2))}), core.WithRoute("POST /reset", core.Policy{core.PerIP(core.PerHour(2))}))
	if got := admitted(l, at("POST /login"), 5); got != 2 {
		t.Errorf("%d admitted, want 2", got)
	}
	if got := left(t, l, at("POST /reset"), "ip"); got != 2 {
		t.Errorf("another route has %d left, want 2", got)
	}
	if got := left(t, l, at("GET /"), "ip"); got != 10 {
		t.Errorf("the policy's own bucket has %d left, want 10", got)
	}
	if got := left(t, l, at("GET /"), "user"); got != 18 {
		t.Errorf("the inherited level has %d left, want 18: it is one bucket for all routes", got)
	}
}

func TestRouteTemplatesCompareAcrossFrameworks(t *testing.T) {
	for _, pair := range [][2]string{
		{"GET /items/:id", "GET /items/{id}"},
		{"GET /items/{id}", "GET /items/:id"},
		{"GET /a/:b/c/:d", "GET /a/{b}/c/{d}"},
		{"GET /files/*path", "GET /files/{path...}"},
		{"GET /files/*", "GET /files/{...}"},
		{"GET /items/:id", "GET /items/:id"},
		{"/pkg.Items/Get", "/pkg.Items/Get"},
	} {
		l, _ := limiting(t, core.Policy{core.PerEndpoint(core.PerHour(9))}, core.WithRoute(pair[0], core.Policy{core.PerIP(core.PerHour(2))}))
		if got := parts(l, at(pair[1])); got["ip"] != 2 {
			t.Errorf("route %s, request %s: levels %v", pair[0], pair[1], got)
		}
		if got := l.UnseenRoutes(); len(got) != 0 {
			t.Errorf("route %s, request %s: unseen %v", pair[0], pair[1], got)
		}
		l.Check(ctx, at(pair[0]))
		if got := left(t, l, at(pair[1]), "endpoint"); got != 8 {
			t.Errorf("%s and %s are two endpoints", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{
		{"GET /items/:id", "GET /items/{name}"},
		{"GET /items/:id", "POST /items/:id"},
		{"GET /items/:id", "GET /items/7"},
		{"GET /a", "GET /a/"},
		{"GET /a:b", "GET /a{b}"},
		{"GET /items/:", "GET /items/{}"},
	} {
		l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(1))}, core.WithRoute(pair[0], core.Policy{core.PerIP(core.PerHour(2))}))
		if got := parts(l, at(pair[1])); got["ip"] != 0 {
			t.Errorf("route %s is met by %s", pair[0], pair[1])
		}
	}
}

func TestRouteOfAnyMethod(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(9))},
		core.WithRoute("* /a/:id", core.Policy{core.PerIP(core.PerHour(3))}), core.WithRoute("POST /a/:id", core.Policy{core.PerIP(core.PerHour(1))}))
	for endpoint, want := range map[string]int64{"GET /a/{id}": 3, "DELETE /a/:id": 3, "* /a/:id": 3, "POST /a/:id": 1, "GET /b/:id": 0} {
		if got := parts(l, at(endpoint))["ip"]; got != want {
			t.Errorf("%s: capacity %d, want %d", endpoint, got, want)
		}
	}
	l.Check(ctx, at("GET /a/:id"))
	if got := left(t, l, at("PUT /a/:id"), "ip"); got != 2 {
		t.Errorf("%d left, want 2: methods of one route share its bucket", got)
	}
}

func TestUnseenRoutesAreReported(t *testing.T) {
	policy := core.Policy{core.PerIP(core.PerHour(10))}
	routes := []core.Option{core.WithRoute("GET /a/:id", policy), core.WithRoute("* /b", policy), core.WithRoute("GET /c", core.Exempt)}
	l, _ := limiting(t, policy, routes...)
	unseen := func(want ...string) {
		t.Helper()
		if got := l.UnseenRoutes(); !slices.Equal(got, want) {
			t.Errorf("unseen %q, want %q", got, want)
		}
	}
	unseen("* /b", "GET /a/{id}", "GET /c")
	l.Check(ctx, at("GET /other"))
	unseen("* /b", "GET /a/{id}", "GET /c")
	l.Check(ctx, at("GET /c"))
	unseen("* /b", "GET /a/{id}")
	l.Check(ctx, at("GET /a/{id}"))
	l.Check(ctx, at("PUT /b"))
	unseen()
	if err := l.SetPolicy(policy, routes[0]); err != nil {
		t.Fatal(err)
	}
	unseen("GET /a/{id}")
}

func TestRouteOverAnExemptPolicyIsLimitedAlone(t *testing.T) {
	l, _ := limiting(t, core.Exempt, core.WithRoute("POST /login", core.Policy{core.PerIP(core.PerHour(1))}))
	if got := admitted(l, at("GET /"), 5); got != 5 {
		t.Errorf("%d of 5 admitted", got)
	}
	if got := admitted(l, at("POST /login"), 5); got != 1 {
		t.Errorf("login admits %d, want 1", got)
	}
}

func TestHasLevelLooksEverywhere(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(ok1)}, core.WithRoute("GET /a", core.Policy{core.PerKey("one", fixed, ok1)}),
		core.WithRoute("* /b", core.Policy{core.PerKey("two", fixed, ok1)}), core.WithRoute("GET /c", core.Exempt))
	for name, want := range map[string]bool{"ip": true, "one": true, "two": true, "user": false, "exempt": false, "": false} {
		if got := l.HasLevel(name); got != want {
			t.Errorf("level %q: %v", name, got)
		}
	}
}

// An override on what no request has as its endpoint would be a limit that is silently off.
func TestRoutesThatNoRequestHasAreRefused(t *testing.T) {
	policy := core.Policy{core.PerIP(core.PerHour(1))}
	for _, endpoint := range []string{"", "/", "login", "/login", "post /login", "POST login", " /login", "POST", "/a/b/c", "//b", "/a/"} {
		if _, err := core.New(memstore.New(), policy, core.WithRoute(endpoint, policy)); err == nil {
			t.Errorf("%q is accepted", endpoint)
		}
	}
	for _, endpoint := range []string{"POST /login", "* /login", "GET /opt/:id?", "M-SEARCH /x", "GET example.com/items/{id}", "/shop.v1.Items/Get"} {
		if _, err := core.New(memstore.New(), policy, core.WithRoute(endpoint, policy)); err != nil {
			t.Errorf("%q is refused: %v", endpoint, err)
		}
	}
}
