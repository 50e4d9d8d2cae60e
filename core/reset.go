package core

import (
	"context"
	"fmt"
	"slices"
)

// Reset makes the buckets of a request as good as never used: those of the named levels, or,
// with none named, of the levels keyed by the caller (ip, user, custom), not those that
// callers share (global, endpoint). It resets those of a listed request too. A name that is not in
// the request's policy is an error. A guard forgets nobody by it: it goes by what was asked for until
// its window has passed.
func (l *Limiter) Reset(ctx context.Context, r Request, levels ...string) error {
	t := l.current.Load()
	r.Endpoint = normalizeEndpoint(r.Endpoint)
	p := t.lookup(r.Endpoint)
	if len(levels) == 0 {
		for i := range p.levels {
			if p.levels[i].scope != scopeShared {
				levels = append(levels, p.levels[i].Name)
			}
		}
	}
	for _, name := range levels {
		if !p.has(name) {
			return fmt.Errorf("core: level %q is not in the policy of this request", name)
		}
	}
	a := l.open(t, &r, guardsRest)
	buckets := slices.DeleteFunc(a.buckets, func(b Bucket) bool { return !slices.Contains(levels, b.Level) })
	if len(buckets) == 0 {
		return nil
	}
	return l.store.Reset(ctx, buckets)
}
