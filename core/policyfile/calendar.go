package policyfile

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const (
	wantZone     = "a time zone such as Europe/Berlin"
	wantCalendar = "NUMBER/day, NUMBER/week or NUMBER/month"
)

// calendars are the names of core's, without that of none.
var calendars = enum(core.ParseCalendar)[1:]

// windows reads the algorithm, and the calendar that its windows follow; named is the one whose unit
// stands in the limit n. ok is false where the rest of the limit cannot be judged.
func (r *reader) windows(limit core.Limit, named core.Calendar, n node, fields map[string]node) (core.Limit, bool) {
	algorithm, at, zone := fields["algorithm"], fields["calendar"], fields["zone"]
	if zone.given() && !at.given() {
		r.fail(zone.place(), "without a calendar no time zone matters, want calendar beside it")
	}
	if at.given() {
		return r.calendar(limit, named, n, fields)
	}
	if named > core.Daily {
		r.fail(n.place(), "the unit %s is one of a calendar, want calendar: %v beside it, or a number of days", quote(unitOf(n.Value)), named)
		return limit, false
	}
	if !algorithm.given() {
		return limit, true
	}
	limit.Algorithm = core.Algorithm(r.choice(algorithm, enum(core.ParseAlgorithm)))
	if err := limit.Validate(); err != nil {
		r.fail(n.place(), "%v", err)
		return limit, false
	}
	return limit, true
}

func (r *reader) calendar(limit core.Limit, named core.Calendar, n node, fields map[string]node) (core.Limit, bool) {
	before := len(r.errs)
	at, algorithm := fields["calendar"], fields["algorithm"]
	chosen := core.Calendar(r.choice(at, calendars) + 1)
	switch {
	case len(r.errs) > before:
	case named == core.NoCalendar:
		r.fail(at.place(), "got %v beside %s, want none, or a limit of %s", at, quote(n.Value), wantCalendar)
	case named != chosen:
		r.fail(at.place(), "got %v beside %s, want %v", at, quote(n.Value), named)
	}
	if algorithm.given() {
		known := len(r.errs)
		if a := core.Algorithm(r.choice(algorithm, enum(core.ParseAlgorithm))); a != core.FixedWindow && len(r.errs) == known {
			r.fail(algorithm.place(), "got %v, want %v or none: a calendar is counted by that", algorithm, core.FixedWindow)
		}
	}
	return core.PerCalendar(limit.Quota, chosen, r.zone(fields["zone"])), len(r.errs) == before
}

// zone reads a time zone; nil where none is given. "Local" is another one on each machine.
func (r *reader) zone(n node) *time.Location {
	if !n.given() {
		return nil
	}
	name, ok := r.text(n, wantZone)
	if !ok {
		return nil
	}
	if name == "" || name == "Local" {
		r.fail(n.place(), "got %v, want %s", n, wantZone)
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		r.fail(n.place(), "got %v, want %s; a system without zone data needs a program that imports time/tzdata", n, wantZone)
		return nil
	}
	return zone
}
