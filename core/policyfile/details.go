package policyfile

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// details are the fields beside a limit's text that say how it is counted.
var details = []string{"burst", "algorithm", "step", "start", "offset", "calendar", "zone"}

// detailed reads all of them but those that windows does.
func (r *reader) detailed(limit core.Limit, fields map[string]node) core.Limit {
	if n := fields["burst"]; n.given() {
		if burst, ok := r.number(n, 1); ok { // core takes 0 for the quota: here leaving it out says that
			limit = r.keep(n, limit, limit.WithBurst(burst))
		}
	}
	if n := fields["offset"]; n.given() {
		if offset, ok := r.offset(n, limit); ok {
			limit = r.keep(n, limit, limit.WithOffset(offset))
		}
	}
	if n := fields["step"]; n.given() {
		if step, ok := r.number(n, 1); ok {
			limit = r.keep(n, limit, limit.WithStep(step))
		}
	}
	if n := fields["start"]; n.given() {
		if start, ok := r.number(n, 0); ok {
			limit = r.keep(n, limit, limit.WithStart(start))
		}
	}
	return limit
}

// keep takes a change that core accepts, and reports at n what it has against one.
func (r *reader) keep(n node, limit, changed core.Limit) core.Limit {
	if err := changed.Validate(); err != nil {
		r.fail(n.place(), "%s", problem(err))
		return limit
	}
	return changed
}

// number reads units, from least on.
func (r *reader) number(n node, least int64) (int64, bool) {
	want := "1 to " + maxUnits
	if least == 0 {
		want = "0 to " + maxUnits
	}
	units, ok := r.integer(n, 64, want)
	if ok && (units < least || units > tokenbucket.MaxUnits) {
		r.fail(n.place(), "got %v, want %s", n, want)
		return 0, false
	}
	return units, ok
}

func (r *reader) offset(n node, limit core.Limit) (time.Duration, bool) {
	const want = "a time such as 15min"
	text, ok := r.text(n, want)
	if !ok {
		return 0, false
	}
	if limit.Calendar() != core.NoCalendar {
		r.fail(n.place(), "a calendar says where its windows begin, want no offset beside it")
		return 0, false
	}
	if text == "" || text[0] < '0' || text[0] > '9' {
		r.fail(n.place(), "got %v, want %s", n, want)
		return 0, false
	}
	offset, err := parseSpan("offset", text)
	if err != nil {
		r.fail(n.place(), "%v", err)
		return 0, false
	}
	if offset == 0 { // leaving it out says that
		r.fail(n.place(), "got %v, want more than 0", n)
	}
	return offset, offset > 0
}
