package policyfile

import (
	"strings"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// ban reads what repeated denials come to. What core allows is written down there alone.
func (r *reader) ban(n node) (ban core.Ban) {
	fields, ok := r.fields(n, "a ban such as {after: 3, within: 1h, for: 15min}", "after", "within", "for", "multiply", "max")
	if !ok {
		return ban
	}
	before := len(r.errs)
	for _, name := range []string{"after", "within", "for"} {
		if !fields[name].given() {
			r.fail(n.field(name, n.Node).place(), "missing, want it beside the others of a ban: after, within and for")
		}
	}
	for name, number := range map[string]*int64{"after": &ban.After, "multiply": &ban.Multiply} {
		if at := fields[name]; at.given() {
			*number, _ = r.integer(at, 10, "a number, 1 to 1000")
		}
	}
	for name, d := range map[string]*time.Duration{"within": &ban.Within, "for": &ban.For, "max": &ban.Max} {
		if at := fields[name]; at.given() {
			*d = r.span(at, name)
		}
	}
	if len(r.errs) > before {
		return ban
	}
	level := core.Global(core.Unlimited)
	level.Ban = ban
	if _, err := core.New(anyStore{}, core.Policy{level}); err != nil {
		_, text, _ := strings.Cut(err.Error(), ": ban: ")
		r.fail(n.place(), "%s", text)
	}
	return ban
}

// span reads a time, called by the field's name where it is wrong.
func (r *reader) span(n node, name string) time.Duration {
	text, ok := r.text(n, wantWindow)
	if !ok {
		return 0
	}
	d, err := parseSpan(name, text)
	if err != nil {
		r.fail(n.place(), "%v", err)
	}
	return d
}
