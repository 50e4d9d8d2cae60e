package policyfile

import (
	"go.yaml.in/yaml/v3"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// limits reads the limit, burst and algorithm of a level.
func (r *reader) limits(level node, fields map[string]node) []core.Limit {
	limit, burst, algorithm := fields["limit"], fields["burst"], fields["algorithm"]
	switch {
	case !limit.given():
		r.fail(level.field("limit", level.Node).place(), "missing, want %s", wantLimit)
		return nil
	case limit.Kind != yaml.SequenceNode:
		return []core.Limit{r.limit(limit, burst, algorithm)}
	case burst.given():
		r.fail(burst.place(), "a list of limits has no burst in common, want it in the list: limit: [{limit: 10/s, burst: 20}, 5000/day]")
	}
	items, ok := r.list(limit, wantLimit)
	if ok && len(items) == 0 {
		r.fail(limit.place(), "the list is empty, want %s", wantLimit)
	}
	limits := make([]core.Limit, len(items))
	for i, item := range items {
		limits[i] = r.listed(item, algorithm)
	}
	return limits
}

// listed reads one of several limits. An algorithm of its own goes before the level's.
func (r *reader) listed(n, algorithm node) core.Limit {
	if n.Kind != yaml.MappingNode {
		return r.limit(n, node{}, algorithm)
	}
	fields, ok := r.fields(n, wantLimit, "limit", "burst", "algorithm")
	if !ok {
		return core.Limit{}
	}
	if own := fields["algorithm"]; own.given() {
		algorithm = own
	}
	if !fields["limit"].given() {
		r.fail(n.field("limit", n.Node).place(), "missing, want %s", wantLimit)
		return core.Limit{}
	}
	return r.limit(fields["limit"], fields["burst"], algorithm)
}

func (r *reader) limit(n, burst, algorithm node) core.Limit {
	if !r.is(n, yaml.ScalarNode, wantLimit) {
		return core.Limit{}
	}
	if isNull(n.Node) {
		r.fail(n.place(), "got nothing, want %s", wantLimit)
		return core.Limit{}
	}
	limit, err := parseLimit(n.Value)
	if err != nil {
		r.fail(n.place(), "%v", err)
		return core.Limit{}
	}
	if limit == core.Unlimited || limit == core.BlockAll {
		r.nothingBeside(n, burst, algorithm)
		return limit
	}
	asks := demand{place: n.place()}
	if algorithm.given() {
		limit.Algorithm = core.Algorithm(r.choice(algorithm, enum(core.ParseAlgorithm)))
		asks.place = algorithm.place()
	}
	asks.algorithm = limit.Algorithm
	r.demands = append(r.demands, asks)
	if burst.given() {
		limit.Burst = r.burst(burst, limit)
	}
	return limit
}

func (r *reader) nothingBeside(limit node, others ...node) {
	for _, n := range others {
		if n.given() {
			r.fail(n.place(), "the limit %s counts nothing, want none beside it", quote(limit.Value))
		}
	}
}

func (r *reader) burst(n node, limit core.Limit) int64 {
	want := "1 to " + maxUnits
	burst, ok := r.integer(n, 64, want)
	if !ok {
		return 0
	}
	if burst < 1 || burst > tokenbucket.MaxUnits { // core takes 0 for the quota: here leaving burst out says that
		r.fail(n.place(), "got %v, want %s", n, want)
	} else if err := limit.WithBurst(burst).Validate(); err != nil {
		r.fail(n.place(), "%s", problem(err))
	}
	return burst
}
