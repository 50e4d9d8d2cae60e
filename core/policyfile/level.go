package policyfile

import (
	"slices"
	"strings"

	"github.com/tierlimit/tierlimit/core"
)

type keyFunc = func(*core.Request) (string, bool)

// builtin are the levels that core knows how to key.
var builtin = map[string]func(...core.Limit) core.Level{
	"ip": core.PerIP, "user": core.PerUser, "endpoint": core.PerEndpoint, "global": core.Global,
}

// failureModes stand in the order of core's constants.
var failureModes = []string{"local", "open", "closed"}

const wantKey = `"header:NAME" such as "header:X-Tenant"`

// levels reads a list of levels. Those with a name of their own that are in keys need no key.
func (r *reader) levels(n node, want string) core.Policy {
	items, ok := r.list(n, want)
	if ok && len(items) == 0 {
		r.fail(n.place(), "the list is empty, want %s", want)
	}
	policy := make(core.Policy, 0, len(items))
	first := map[string]place{}
	for _, item := range items {
		level, name, ok := r.level(item)
		if !ok {
			continue
		}
		if earlier, twice := first[level.Name]; twice {
			r.fail(name.place(), "level %s is given twice, first at %d:%d, want it once", quote(level.Name), earlier.line, earlier.column)
			continue
		}
		first[level.Name] = name.place()
		policy = append(policy, level)
	}
	return policy
}

// level reads one level; ok is false where not even its name is known.
func (r *reader) level(n node) (level core.Level, name node, ok bool) {
	fields, isMapping := r.fields(n, "a level such as {name: ip, limit: 300/min}",
		slices.Concat([]string{"name", "limit"}, details, []string{"key", "on_failure", "shadow", "lease", "strict", "ban", "guard"})...)
	if !isMapping {
		return level, name, false
	}
	limits := r.limits(n, fields)
	if name = fields["name"]; name.given() {
		level, ok = r.keyed(name, fields["key"], limits)
	} else {
		r.fail(n.field("name", n.Node).place(), "missing, want ip, user, endpoint, global or a name of your own")
	}
	level.OnFailure = r.onFailure(n, fields["on_failure"])
	if shadow := fields["shadow"]; shadow.given() {
		level.Shadow = r.boolean(shadow)
	}
	if lease := fields["lease"]; lease.given() {
		level.Lease = r.boolean(lease)
	}
	if strict := fields["strict"]; strict.given() {
		level.Strict = r.boolean(strict)
	}
	if ban := fields["ban"]; ban.given() {
		level.Ban = r.ban(ban)
	}
	if guard := fields["guard"]; guard.given() {
		level.Guard = r.guard(guard, limits)
	}
	return level, name, ok
}

// keyed makes the level with core's own constructors: they alone know whose identity is in the
// key, and so what a Reset of a caller may touch and what must be hashed.
func (r *reader) keyed(at, key node, limits []core.Limit) (core.Level, bool) {
	name, ok := r.name(at)
	if !ok {
		return core.Level{}, false
	}
	makeLevel, isBuiltin := builtin[name]
	switch {
	case isBuiltin && key.given():
		r.fail(key.place(), "level %s has a key by its nature, want none", quote(name))
		return makeLevel(limits...), true
	case isBuiltin:
		return makeLevel(limits...), true
	case key.given():
		return core.PerKey(name, r.key(key), limits...), true
	}
	inherited, known := r.keys[name]
	if !known && !r.keysUnknown {
		r.fail(at.place(), "unknown level %s, want ip, user, endpoint or global, or a key beside it: %s", quote(name), wantKey)
	}
	return core.PerKey(name, inherited, limits...), true
}

func (r *reader) key(n node) keyFunc {
	s, ok := r.text(n, wantKey)
	if !ok {
		return core.Provided
	}
	header, ok := strings.CutPrefix(s, "header:")
	if !ok || !isToken(header) {
		r.fail(n.place(), "got %v, want %s", n, wantKey)
	}
	return core.ByHeader(header)
}

// isToken reports whether s can be the name of a header (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

func (r *reader) onFailure(level, n node) core.FailureMode {
	at, mode := level.field("on_failure", level.Node), core.Local
	if n.given() {
		at, mode = n, core.FailureMode(r.choice(n, failureModes))
	}
	if mode == core.Local {
		r.demands = append(r.demands, demand{place: at.place(), local: true})
	}
	return mode
}
