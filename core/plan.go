package core

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"
)

// table is everything that SetPolicy replaces, compiled: read by each request through one
// atomic pointer, never changed.
type table struct {
	config
	hasher *hasher
	dated  bool // a format tells the time of day
	base   *plan
	routes map[string]*plan // by normalized endpoint
	paths  map[string]*plan // by path, for routes that take every method
}

// plan is the levels of one route.
type plan struct {
	endpoint string // "" for the limiter's own policy
	levels   []planLevel
	limits   int // of all levels
	exempt   bool
	seen     atomic.Bool
}

type planLevel struct {
	Level
	reads  reading
	route  string // "" when the bucket is shared with other routes
	limits []planLimit
	tiers  *tiers
	ban    *planLimit // nil: nobody is banned
}

type planLimit struct {
	Limit
	most   int64  // its capacity
	name   string // in reports: "user", then "user-2"
	item   policyItem
	prefix string // of the bucket's key
	guard  Guard  // the level's, on its first limit alone; nil: none, or none that fits these limits
}

func compile(c config, p Policy, store Store) (*table, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	t := &table{
		config: c, hasher: newHasher(c.secret), dated: slices.Contains(c.headers, XRateLimitEpoch),
		routes: map[string]*plan{}, paths: map[string]*plan{},
	}
	t.base = t.plan("", p, make([]bool, len(p)))
	if err := t.base.check(store); err != nil {
		return nil, err
	}
	for _, r := range c.routes {
		merged, own := r.policy, []bool{false}
		if !r.policy.exempt() {
			base := p
			if p.exempt() {
				base = nil
			}
			merged, own = base.override(r.policy)
		}
		plan := t.plan(r.endpoint, merged, own)
		if err := plan.check(store); err != nil {
			return nil, fmt.Errorf("route %q: %w", r.endpoint, err)
		}
		index, key := t.routes, r.endpoint
		if path, ok := anyMethod(r.endpoint); ok {
			index, key = t.paths, path
		}
		if index[key] != nil {
			return nil, fmt.Errorf("route %q is given twice, want each once", r.endpoint)
		}
		index[key] = plan
	}
	return t, nil
}

func (t *table) plan(endpoint string, p Policy, own []bool) *plan {
	out := &plan{endpoint: endpoint, exempt: p.exempt()}
	if out.exempt {
		return out
	}
	for i, level := range p {
		pl := planLevel{Level: level, reads: readingOf(level.Key), tiers: new(tiers)}
		if own[i] {
			pl.route = endpoint
		}
		pl.limits = t.limits(&pl, level.Limits, periodOf)
		if level.Ban != (Ban{}) {
			pl.ban = &planLimit{Limit: level.Ban.limit(), prefix: keyPrefix(t.name, pl.route, level.Name, "ban", "b", 1)}
			out.limits++
		}
		out.levels = append(out.levels, pl)
		out.limits += len(pl.limits)
	}
	return out
}

// limits compiles a level's limits; part is what tells them apart in keys.
func (t *table) limits(l *planLevel, limits []Limit, part func(Limit) string) []planLimit {
	out, parts := make([]planLimit, len(limits)), make([]string, len(limits))
	for i, limit := range limits {
		parts[i] = part(limit)
		nth := 1
		for _, earlier := range parts[:i] {
			if earlier == parts[i] {
				nth++
			}
		}
		out[i] = planLimit{Limit: limit, most: limit.Capacity(), name: l.Name, prefix: keyPrefix(t.name, l.route, l.Name, parts[i], codeOf(limit), nth)}
		if i > 0 {
			out[i].name += "-" + strconv.Itoa(i+1)
		}
		out[i].item = newPolicyItem(out[i].name, limit)
	}
	if l.Guard != nil && l.Guard.Bounds().fits(limits) == nil {
		out[0].guard = l.Guard
	}
	return out
}

// check refuses at construction what the store could not do at run time.
func (p *plan) check(store Store) error {
	traits := store.Traits()
	for i := range p.levels {
		l := &p.levels[i]
		if l.OnFailure == Local && !traits.Local {
			return fmt.Errorf("level %q: OnFailure is Local but the store has no local half: wrap it in fallback.New, or choose Open or Closed", l.Name)
		}
		if l.Strict && !traits.Strict {
			return fmt.Errorf("level %q: strict is set, and the store holds nothing in process: wrap it in fallback.New", l.Name)
		}
		if l.ban != nil && !traits.Bans {
			return fmt.Errorf("level %q: ban is set, and the store has no bans", l.Name)
		}
		for _, limit := range l.limits {
			if err := traits.runs(limit.Limit); err != nil {
				return fmt.Errorf("level %q: %w", l.Name, err)
			}
		}
	}
	return nil
}

// has reports whether the plan has a level of that name.
func (p *plan) has(level string) bool {
	return slices.ContainsFunc(p.levels, func(l planLevel) bool { return l.Name == level })
}

// overrides are the plans of all routes, in no order.
func (t *table) overrides() iter.Seq[*plan] {
	return func(yield func(*plan) bool) {
		for _, index := range []map[string]*plan{t.routes, t.paths} {
			for _, p := range index {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// lookup finds the plan of an endpoint that is already normalized.
func (t *table) lookup(endpoint string) *plan {
	p, ok := t.routes[endpoint]
	if !ok && len(t.paths) > 0 {
		p, ok = t.paths[pathOf(endpoint)]
	}
	if !ok {
		return t.base
	}
	if !p.seen.Load() {
		p.seen.Store(true)
	}
	return p
}
