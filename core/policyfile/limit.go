package policyfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

const (
	wantLimit = "NUMBER/PERIOD such as 300/min or 5/15min, or unlimited, or block"
	wantUnit  = "ms, s, sec, second, min, minute, h, hour, d or day"
)

var maxUnits = strconv.FormatInt(tokenbucket.MaxUnits, 10)

// units lacks "m", which is a minute to some and a month to others.
var units = map[string]time.Duration{
	"ms": time.Millisecond,
	"s":  time.Second, "sec": time.Second, "second": time.Second,
	"min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour,
}

// calendarUnits are the periods of which a calendar can decide how long they are. Those of units
// have a length without one too.
var calendarUnits = map[string]core.Calendar{
	"d": core.Daily, "day": core.Daily, "week": core.Weekly, "month": core.Monthly,
}

// parseLimit reads "300/min", "5/15min", "10000/month", "unlimited" or "block". named is the calendar
// that the period could be of; a week and a month need one.
func parseLimit(s string) (limit core.Limit, named core.Calendar, err error) {
	switch s {
	case "unlimited":
		return core.Unlimited, named, nil
	case "block":
		return core.BlockAll, named, nil
	}
	number, rest, ok := strings.Cut(s, "/")
	if !ok || rest == "" {
		return limit, named, fmt.Errorf("%s has no period, want %s", quote(s), wantLimit)
	}
	if !plainDigits(number) {
		return limit, named, fmt.Errorf("%s has no number in plain digits before the slash, want %s", quote(s), wantLimit)
	}
	quota, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return limit, named, fmt.Errorf("quota is %s, want 1 to %s", shorten(number), maxUnits)
	}
	if named = calendarUnits[rest]; named != core.NoCalendar {
		limit = core.PerCalendar(quota, named, nil)
		limit = core.Per(quota, limit.Period)
		return limit, named, limit.Validate()
	}
	period, err := parseSpan("period", rest)
	if err != nil {
		return limit, named, err
	}
	limit = core.Per(quota, period)
	return limit, named, limit.Validate()
}

// unitOf is what stands behind the slash of a limit.
func unitOf(limit string) string {
	_, unit, _ := strings.Cut(limit, "/")
	return unit
}

// parseSpan reads "15min", or "min" for one; what names it in errors.
func parseSpan(what, s string) (time.Duration, error) {
	unit := strings.TrimLeft(s, "0123456789")
	count := int64(1)
	if number := s[:len(s)-len(unit)]; number != "" {
		if !plainDigits(number) {
			return 0, fmt.Errorf("the %s %s begins with a zero, want plain digits", what, quote(s))
		}
		count, _ = strconv.ParseInt(number, 10, 64) // the largest where it does not fit, too long below
	}
	length, ok := units[unit]
	switch {
	case unit == "":
		return 0, fmt.Errorf("the %s %s has no unit, want %s", what, quote(s), wantUnit)
	case unit == "m":
		return 0, fmt.Errorf("the unit %s is a minute or a month, want min", quote(unit))
	case calendarUnits[unit] > core.Daily:
		return 0, fmt.Errorf("the %s %s has a unit of a calendar, want a number of days, or %s and a calendar", what, quote(s), wantCalendar)
	case !ok:
		return 0, fmt.Errorf("the unit %s is unknown, want %s", quote(unit), wantUnit)
	}
	if longest := int64(1<<63-1) / int64(length); count > longest {
		return 0, fmt.Errorf("the %s %s is too long, want at most %d%s", what, quote(s), longest, unit)
	}
	return time.Duration(count) * length, nil
}
