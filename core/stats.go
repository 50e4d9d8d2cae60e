package core

import "slices"

// Stats counts what a decision does not show.
type Stats struct {
	NoAddress     uint64 // requests that an IP level could not count: no client address
	InvalidLimits uint64 // results of LimitsFor that were refused in favour of Limits
}

// Stats reads the counters; they start at 0 and only grow.
func (l *Limiter) Stats() Stats {
	return Stats{NoAddress: l.noAddress.Load(), InvalidLimits: l.badLimits.Load()}
}

// UnseenRoutes lists the WithRoute overrides, and the endpoints on the allow and deny lists, that no
// request has met since they were set: after some traffic, those with a misspelt template.
func (l *Limiter) UnseenRoutes() []string {
	t := l.current.Load()
	out := slices.AppendSeq(slices.Collect(t.allow.unseen()), t.deny.unseen())
	for p := range t.overrides() {
		if !p.seen.Load() {
			out = append(out, p.endpoint)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// HasLevel reports whether the policy or one of its routes has a level of that name. Adapters
// use it to refuse a key for a level that does not exist.
func (l *Limiter) HasLevel(name string) bool {
	t := l.current.Load()
	if t.base.has(name) {
		return true
	}
	for p := range t.overrides() {
		if p.has(name) {
			return true
		}
	}
	return false
}
