package policyfile

import (
	"slices"

	"github.com/tierlimit/tierlimit/core"
)

// demand is something that a file asks of a store: an algorithm, or a local half. A file is
// parsed before its store is known, so the places are kept until then.
type demand struct {
	place     place
	algorithm core.Algorithm
	local     bool
}

// misfits says where a file asks for what a store does not have.
func (f *File) misfits(has core.Traits) error {
	var errs []*Error
	for _, d := range f.demands {
		switch {
		case d.local && !has.Local:
			errs = append(errs, newError(f.origin, d.place, "local needs a store with a local half, want fallback.New around it, or open or closed here"))
		case !d.local && !slices.Contains(has.Algorithms, d.algorithm):
			errs = append(errs, newError(f.origin, d.place, "%v is not what the store can run, want one of %v", d.algorithm, has.Algorithms))
		}
	}
	return join(errs)
}
