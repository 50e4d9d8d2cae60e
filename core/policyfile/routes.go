package policyfile

import (
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/tierlimit/tierlimit/core"
)

const (
	wantLevels = "a list of levels such as {name: ip, limit: 300/min}, or exempt"
	wantRoutes = `a mapping such as {"POST /login": [{name: ip, limit: 5/min}], "GET /healthz": exempt}`
	wantRoute  = `"METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`
)

// endpointForm is stricter than core, which takes routes that no request ever has. A path may
// begin with a host, as net/http patterns do.
var endpointForm = regexp.MustCompile(`^(([A-Z][A-Z-]*|\*) [^/\s]*/\S*|/[^/\s]+/[^/\s]+)$`)

// base reads the limiter's own levels and remembers their keys for the routes.
func (r *reader) base(root, n node) core.Policy {
	if !n.given() {
		r.keysUnknown = true
		r.fail(root.field("levels", root.Node).place(), "missing, want %s", wantLevels)
		return nil
	}
	policy := r.policy(n)
	if isExempt(n) {
		return policy
	}
	r.keysUnknown = len(policy) < max(len(n.Content), 1)
	r.keys = make(map[string]keyFunc, len(policy))
	for _, level := range policy {
		r.keys[level.Name] = level.Key
	}
	return policy
}

func (r *reader) policy(n node) core.Policy {
	if isExempt(n) {
		return core.Exempt
	}
	return r.levels(n, wantLevels)
}

func isExempt(n node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "exempt" && n.Anchor == "" && n.Style&yaml.TaggedStyle == 0
}

func (r *reader) routes(n node) []core.Option {
	entries, _ := r.entries(n, wantRoutes)
	opts := make([]core.Option, 0, len(entries))
	first := map[string]entry{}
	for _, e := range entries {
		policy := r.policy(e.value)
		if !endpointForm.MatchString(e.name) {
			r.fail(e.key.place(), "got %s, want %s", quote(e.name), wantRoute)
			continue
		}
		spelling := normalized(e.name)
		if earlier, twice := first[spelling]; twice {
			r.fail(e.key.place(), "the same route as %s at %d:%d, want it once", quote(earlier.name), earlier.key.Line, earlier.key.Column)
			continue
		}
		first[spelling] = e
		opts = append(opts, core.WithRoute(e.name, policy))
	}
	return opts
}

// normalized is core's one spelling of a route ("/items/:id" is "/items/{id}"), learned from a
// limiter that has no other route and has not seen it yet.
func normalized(endpoint string) string {
	limiter, err := trial(core.WithRoute(endpoint, core.Exempt))
	if err != nil {
		return endpoint
	}
	return limiter.UnseenRoutes()[0]
}
