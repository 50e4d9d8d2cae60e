package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func addressAndEndpoint(w *witness) core.Policy {
	return core.Policy{core.PerIP(core.PerHour(10_000)), core.PerEndpoint(core.PerHour(50)), w.level()}
}

// endpointCases: the endpoint is the route's template, mounted anywhere, or nothing.
var endpointCases = group{
	"all values of a parameter are one endpoint": func(t *testing.T, h *harness) {
		var w witness
		c := h.serve(t, h.simple(h.limiter(t, addressAndEndpoint(&w))))
		for i := range 50 {
			c.do(t, fmt.Sprintf("GET /items/%d", i)).is(t, 200)
			c.do(t, "GET /y").is(t, 200)
		}
		c.do(t, "GET /items/new").is(t, 429)
		c.do(t, "GET /y?page=2").is(t, 429)
		c.do(t, "GET /x").is(t, 200)
		wantEndpoints(t, &w, "GET /items/{id}", "GET /x", "GET /y")
		equal(t, "buckets", h.store.Stats().Entries, 4)
	},

	"a wildcard is one endpoint, and a method is another": func(t *testing.T, h *harness) {
		var w witness
		c := h.serve(t, h.simple(h.limiter(t, addressAndEndpoint(&w))))
		for _, line := range []string{"GET /files/a", "GET /files/a/b/c", "GET /files/a%2Fb", "GET /x", "POST /x"} {
			c.do(t, line).is(t, 200)
		}
		got := w.endpoints()
		if len(got) != 3 || !strings.HasPrefix(got[0], "GET /files/{") || !strings.HasSuffix(got[0], "...}") || got[1] != "GET /x" || got[2] != "POST /x" {
			t.Errorf("endpoints are %q", got)
		}
		equal(t, "buckets", h.store.Stats().Entries, 4)
	},

	"of two routes that fit, the endpoint is that of the one that answers": func(t *testing.T, h *harness) {
		var w witness
		says := func(template string) Route {
			return Route{Method: "GET", Path: template, Handler: func(c Call) error { return c.Reply(200, textType, "GET "+Braces(template)) }}
		}
		s := h.simple(h.limiter(t, addressAndEndpoint(&w)))
		s.Routes = append(s.Routes, says("/u/me"), says("/u/:id"), says("/u/:id/last"))
		c := h.serve(t, s)
		for _, path := range []string{"/u/me", "/u/you", "/u/7/last", "/u/me/last", "/u/me?id=you"} {
			wantEndpoints(t, &w, c.do(t, "GET "+path).is(t, 200).body)
		}
	},

	"a group's prefix belongs to the template, wherever the middleware is": func(t *testing.T, h *harness) {
		var app, group, route witness
		mount := func(name string, w *witness) []Mount {
			return []Mount{{limiterOver(t, h.anotherStore(t), core.Policy{core.PerEndpoint(core.PerHour(50)), w.level()}, core.WithName(name)), nil}}
		}
		inGroup := Route{Method: "GET", Path: "/z/:id", Handler: h.ok, Mounts: mount("route", &route)}
		c := h.serve(t, Service{Mounts: mount("app", &app), Routes: h.routes(), Groups: []Group{{Prefix: "/g", Mounts: mount("group", &group), Routes: []Route{inGroup}}}})
		c.do(t, "GET /g/z/1").is(t, 200, "endpoint 49", "group:endpoint 49", "route:endpoint 49")
		for _, w := range []*witness{&app, &group, &route} {
			wantEndpoints(t, w, "GET /g/z/{id}")
		}
	},

	"an unknown path pays by address and has no endpoint": func(t *testing.T, h *harness) {
		var w witness
		s := h.simple(h.limiter(t, addressAndEndpoint(&w)))
		s.Groups = []Group{{Prefix: "/g", Routes: []Route{{Method: "GET", Path: "/z", Handler: h.ok}}}}
		c := h.serve(t, s)
		c.do(t, "GET /nowhere").is(t, http.StatusNotFound, "ip 9999")
		c.do(t, "GET /g/nowhere").is(t, http.StatusNotFound, "ip 9998")
		c.do(t, "POST /nowhere").is(t, http.StatusNotFound, "ip 9997")
		c.do(t, "GET /").is(t, http.StatusNotFound, "ip 9996")
		wantEndpoints(t, &w, "")
		equal(t, "buckets", h.store.Stats().Entries, 1)
	},

	"a flood of unknown paths is no flood of buckets": func(t *testing.T, h *harness) {
		var w witness
		c := h.serve(t, h.simple(h.limiter(t, addressAndEndpoint(&w))))
		for range 1000 {
			c.do(t, fmt.Sprintf("GET /%x/%x", rand.Uint64(), rand.Uint64())).is(t, http.StatusNotFound)
		}
		wantEndpoints(t, &w, "")
		equal(t, "buckets", h.store.Stats().Entries, 1)
		c.do(t, "GET /x").is(t, 200, "ip 8999", "endpoint 49")
	},

	"an unknown path is refused where the address is over its limit": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(h.limiter(t, onePerMinute())))
		c.do(t, "GET /nowhere").is(t, http.StatusNotFound, "ip 0")
		c.do(t, "GET /nowhere").is(t, 429, "ip 0").has(t, "Content-Type", core.ProblemType)
	},

	"a method without a route pays by address and has no endpoint": func(t *testing.T, h *harness) {
		h.needs(t, MethodNotAllowed)
		var w witness
		c := h.serve(t, h.simple(h.limiter(t, addressAndEndpoint(&w))))
		c.do(t, "DELETE /items/1").is(t, http.StatusMethodNotAllowed, "ip 9999")
		c.do(t, "PUT /x").is(t, http.StatusMethodNotAllowed, "ip 9998")
		if a := c.do(t, "BREW /x"); a.status < 400 { // no method at all to some frameworks
			t.Errorf("%v: admitted", a)
		}
		wantEndpoints(t, &w, "")
		equal(t, "buckets", h.store.Stats().Entries, 1)
	},

	"no spelling of a path gets past its endpoint's limit": func(t *testing.T, h *harness) {
		var w witness
		l := h.limiter(t, core.Policy{core.PerEndpoint(core.PerHour(1)), w.level()})
		c := h.serve(t, h.simple(l))
		c.do(t, "GET /items/1").is(t, 200, "endpoint 0")
		c.do(t, "GET /y").is(t, 200, "endpoint 0")
		for _, path := range []string{
			"/items/1", "/items/2", "/items/1/", "//items/1", "/items//1", "/ITEMS/1", "/items/%31", "/%69tems/1", "/./items/1", "/items/./1",
			"/y/../items/1", "/items/1?a=b", "/items/1;v=1", "/items/a%2Fb", "/items/%2e%2e", "/y/", "//y", "/%79", "/Y", "/y?", "/y?/items/1", "/y;a",
		} {
			// The framework may know the spelling, redirect it, or not find it. Whichever it is,
			// no handler runs that the limit says shall not.
			if a := c.do(t, "GET "+path); a.status < 300 {
				t.Errorf("%v: admitted", a)
			}
		}
		equal(t, "calls of the handler", h.calls.Load(), 2)
		for _, endpoint := range w.endpoints() {
			if !slices.Contains([]string{"", "GET /items/{id}", "GET /y"}, endpoint) {
				t.Errorf("endpoint %q is no template", endpoint)
			}
		}
		equal(t, "buckets", h.store.Stats().Entries, 2)
	},

	"a HEAD that a GET route answers is the GET route's": func(t *testing.T, h *harness) {
		h.needs(t, HeadByGet)
		var w witness
		c := h.serve(t, h.simple(h.limiter(t, addressAndEndpoint(&w))))
		c.do(t, "HEAD /items/1").is(t, 200, "ip 9999", "endpoint 49")
		c.do(t, "GET /items/1").is(t, 200, "ip 9998", "endpoint 48")
		wantEndpoints(t, &w, "GET /items/{id}")
	},
}

func wantEndpoints(t *testing.T, w *witness, want ...string) {
	t.Helper()
	if got := w.endpoints(); !slices.Equal(got, want) {
		t.Errorf("endpoints are %q, want %q", got, want)
	}
}
