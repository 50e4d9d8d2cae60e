package core

import "time"

// Calendar lets a fixed window follow the calendar of a time zone, where days and months are not
// all of one length.
type Calendar uint8

// The calendars. Weeks begin on Monday, as ISO 8601 has them.
const (
	NoCalendar Calendar = iota
	Daily
	Weekly
	Monthly
)

var calendarNames = [...]string{"none", "daily", "weekly", "monthly"}

// String returns the name used in policy files.
func (c Calendar) String() string {
	if int(c) < len(calendarNames) {
		return calendarNames[c]
	}
	return "unknown calendar"
}

// ParseCalendar is the inverse of String; ok is false for any other text.
func ParseCalendar(name string) (c Calendar, ok bool) {
	for i, n := range calendarNames {
		if n == name {
			return Calendar(i), true
		}
	}
	return 0, false
}

// nominal is how long a window is taken to be where one number is wanted.
func (c Calendar) nominal() time.Duration {
	const day = 24 * time.Hour
	return [...]time.Duration{0, day, 7 * day, 30 * day}[min(c, Monthly)]
}

// Edge is when the window begins that is n after the one that t is in, in t's time zone.
func (c Calendar) Edge(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	switch c {
	case Weekly:
		d += 7*n - (int(t.Weekday())+6)%7
	case Monthly:
		m, d = m+time.Month(n), 1
	default:
		d += n
	}
	return midnight(time.Date(y, m, d, 0, 0, 0, 0, t.Location()), time.Date(y, m, d, 12, 0, 0, 0, t.Location()))
}

// midnight is the first instant of noon's day: t, but where clocks are put forward at that hour. Then
// t is on either side of the gap, whose end is no time of its own.
func midnight(t, noon time.Time) time.Time {
	switch start, end := t.ZoneBounds(); {
	case t.Day() != noon.Day():
		return end
	case t.Hour() != 0 || t.Minute() != 0:
		return start
	}
	return t
}
