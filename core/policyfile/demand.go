package policyfile

import (
	"slices"

	"github.com/tierlimit/tierlimit/core"
)

// demand is something that a file asks of a store: an algorithm, what few limits have, or a local
// half. A file is parsed before its store is known, so the places are kept until then.
type demand struct {
	place     place
	algorithm core.Algorithm
	shape     string // the field that asks for Traits.Shapes; "": none does
	local     bool
}

// demand notes what a limit asks for: where its fields do, or else its text.
func (r *reader) demand(limit core.Limit, text node, fields map[string]node) {
	asks := demand{place: text.place(), algorithm: limit.Algorithm}
	if n := fields["algorithm"]; n.given() {
		asks.place = n.place()
	}
	r.demands = append(r.demands, asks)
	for _, name := range []string{"step", "start", "offset", "calendar"} {
		if n := fields[name]; n.given() {
			r.demands = append(r.demands, demand{place: n.place(), shape: name})
		}
	}
}

// misfits says where a file asks for what a store does not have.
func (f *File) misfits(has core.Traits) error {
	var errs []*Error
	for _, d := range f.demands {
		switch {
		case d.local:
			if !has.Local {
				errs = append(errs, newError(f.origin, d.place, "local needs a store with a local half, want fallback.New around it, or open or closed here"))
			}
		case d.shape != "":
			if !has.Shapes {
				errs = append(errs, newError(f.origin, d.place, "%s is not what the store knows, want none", d.shape))
			}
		case !slices.Contains(has.Algorithms, d.algorithm):
			errs = append(errs, newError(f.origin, d.place, "%v is not what the store can run, want one of %v", d.algorithm, has.Algorithms))
		}
	}
	return join(errs)
}
