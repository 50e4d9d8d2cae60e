package policyfile

import (
	"go.yaml.in/yaml/v3"

	"github.com/tierlimit/tierlimit/core"
)

// limits reads the limit of a level and what says how it is counted.
func (r *reader) limits(level node, fields map[string]node) []core.Limit {
	limit := fields["limit"]
	switch {
	case !limit.given():
		r.fail(level.field("limit", level.Node).place(), "missing, want %s", wantLimit)
		return nil
	case limit.Kind != yaml.SequenceNode:
		return []core.Limit{r.limit(limit, fields)}
	}
	for _, name := range details {
		if n := fields[name]; n.given() && name != "algorithm" {
			r.fail(n.place(), "a list of limits has no %s in common, want it in the list: limit: [{limit: 10/s, burst: 20}, 5000/day]", name)
		}
	}
	items, ok := r.list(limit, wantLimit)
	if ok && len(items) == 0 {
		r.fail(limit.place(), "the list is empty, want %s", wantLimit)
	}
	limits := make([]core.Limit, len(items))
	for i, item := range items {
		limits[i] = r.listed(item, fields["algorithm"])
	}
	return limits
}

// listed reads one of several limits. An algorithm of its own goes before the level's.
func (r *reader) listed(n, algorithm node) core.Limit {
	if n.Kind != yaml.MappingNode {
		return r.limit(n, map[string]node{"algorithm": algorithm})
	}
	fields, ok := r.fields(n, wantLimit, append([]string{"limit"}, details...)...)
	if !ok {
		return core.Limit{}
	}
	if !fields["algorithm"].given() {
		fields["algorithm"] = algorithm
	}
	if !fields["limit"].given() {
		r.fail(n.field("limit", n.Node).place(), "missing, want %s", wantLimit)
		return core.Limit{}
	}
	return r.limit(fields["limit"], fields)
}

// limit reads a limit's text n, and those of fields that are its details.
func (r *reader) limit(n node, fields map[string]node) core.Limit {
	if !r.is(n, yaml.ScalarNode, wantLimit) {
		return core.Limit{}
	}
	if isNull(n.Node) {
		r.fail(n.place(), "got nothing, want %s", wantLimit)
		return core.Limit{}
	}
	limit, named, err := parseLimit(n.Value)
	if err != nil {
		r.fail(n.place(), "%v", err)
		return core.Limit{}
	}
	if limit == core.Unlimited || limit == core.BlockAll {
		r.nothingBeside(n, fields)
		return limit
	}
	limit, ok := r.windows(limit, named, n, fields)
	if !ok {
		return core.Limit{}
	}
	limit = r.detailed(limit, fields)
	r.demand(limit, n, fields)
	return limit
}

func (r *reader) nothingBeside(limit node, fields map[string]node) {
	for _, name := range details {
		if n := fields[name]; n.given() {
			r.fail(n.place(), "the limit %s counts nothing, want none beside it", quote(limit.Value))
		}
	}
}
