package core

import (
	"fmt"
	"math/bits"
	"time"
	"unique"
)

// shape is what few limits have. A Limit holds it by a handle: it is copied with each bucket of
// each request, and stays small and comparable so.
type shape struct {
	step     int64 // units that come back at once
	start    int64 // units of a new bucket, and one more; 0: it is full
	offset   time.Duration
	calendar Calendar
	zone     *time.Location
	ban      Ban
}

func (l Limit) extra() shape {
	if !l.Shaped() {
		return shape{}
	}
	return l.shape.Value()
}

// Shaped reports whether a limit is more than its fields say: it has steps, a start, an offset or
// a calendar, or is a bucket of bans.
func (l Limit) Shaped() bool { return l.shape != unique.Handle[shape]{} }

func (l Limit) as(s shape) Limit {
	l.shape = unique.Handle[shape]{}
	if s != (shape{}) {
		l.shape = unique.Make(s)
	}
	return l
}

// WithStep returns l as a token bucket that gets units at once instead of continuously: at every
// multiple, since the Unix epoch, of the time that they take, which must be whole microseconds.
// WithStep(Quota) gives the whole quota at the beginning of each period. 0 is continuous again.
func (l Limit) WithStep(units int64) Limit {
	s := l.extra()
	s.step = units
	return l.as(s)
}

// WithStart returns l as a token bucket that holds so many units when it is seen for the first
// time, 0 to Burst, instead of being full: so that neither a new key nor a store that lost its
// data is a burst. A bucket is new again when it was full for as long as it takes to fill, and ten seconds: a
// cost above units is admitted only before that, so that who comes back later than that, told to by a
// slower limit of the same request, may be refused once more, for no longer than the bucket takes to fill.
func (l Limit) WithStart(units int64) Limit {
	s := l.extra()
	if s.start = units + 1; units < 0 {
		s.start = units
	}
	return l.as(s)
}

// WithOffset returns l with its windows beginning d after each multiple of Period since the Unix
// epoch, 0 up to Period.
func (l Limit) WithOffset(d time.Duration) Limit {
	s := l.extra()
	s.offset = d
	return l.as(s)
}

// PerCalendar admits n units each day, week or month of a time zone; nil is UTC. The Period is
// the nominal one, a day, seven or thirty, and FixedWindow the Algorithm. Load a zone once:
// limits of two that were loaded apart are equal in all but ==.
func PerCalendar(n int64, c Calendar, zone *time.Location) Limit {
	l := Limit{Quota: n, Period: c.nominal(), Algorithm: FixedWindow}
	return l.as(shape{calendar: c, zone: zone})
}

// Step is the units that come back at once, 0 where they come back continuously.
func (l Limit) Step() int64 { return l.extra().step }

// Interval is the time from one step to the next, 0 without steps.
func (l Limit) Interval() time.Duration {
	every, _ := l.interval()
	return every
}

// interval tells too whether it is exact.
func (l Limit) interval() (every time.Duration, exact bool) {
	step := l.Step()
	if step <= 0 || l.Quota <= 0 || l.Period <= 0 {
		return 0, true
	}
	hi, lo := bits.Mul64(uint64(l.Period), uint64(step))
	if hi >= uint64(l.Quota) {
		return 0, false
	}
	quo, rem := bits.Div64(hi, lo, uint64(l.Quota))
	if quo > uint64(longest) {
		return 0, false
	}
	return time.Duration(quo), rem == 0 && quo%uint64(time.Microsecond) == 0
}

// longest is the longest interval.
const longest = 100 * 365 * 24 * time.Hour

// Start is what a new bucket holds: its capacity, but for WithStart.
func (l Limit) Start() int64 {
	if s := l.extra(); s.start > 0 {
		return min(s.start-1, l.Capacity())
	}
	return l.Capacity()
}

// Offset is by how much windows begin later than at the multiples of Period.
func (l Limit) Offset() time.Duration { return l.extra().offset }

// Calendar tells how windows follow the calendar: NoCalendar for all but limits of PerCalendar.
func (l Limit) Calendar() Calendar { return l.extra().calendar }

// Location is the time zone of a limit of PerCalendar, else UTC.
func (l Limit) Location() *time.Location {
	if zone := l.extra().zone; zone != nil {
		return zone
	}
	return time.UTC
}

func (l Limit) checkShape() error {
	s := l.extra()
	if (s.step != 0 || s.start != 0) && l.Algorithm != TokenBucket {
		return fmt.Errorf("step and start are of a token bucket, want neither in a %v", l.Algorithm)
	}
	if s.step < 0 || s.step > l.Capacity() {
		return fmt.Errorf("step is %d, want 0 to the burst, %d", s.step, l.Capacity())
	}
	every, exact := l.interval()
	if !exact {
		return fmt.Errorf("step is %d, which at %d per %v takes no whole number of microseconds, or over 100 years", s.step, l.Quota, l.Period)
	}
	if s.step > 0 && s.step > int64(every/time.Microsecond) {
		return fmt.Errorf("step is %d every %v, want at most one unit a microsecond", s.step, every)
	}
	if s.start < 0 {
		return fmt.Errorf("start is %d, want 0 to the burst, %d", s.start, l.Capacity())
	}
	if s.start-1 > l.Capacity() {
		return fmt.Errorf("start is %d, want 0 to the burst, %d", s.start-1, l.Capacity())
	}
	return l.checkEdges(s)
}

func (l Limit) checkEdges(s shape) error {
	if s.offset != 0 && l.Algorithm != FixedWindow && l.Algorithm != SlidingWindow {
		return fmt.Errorf("offset is %v, want 0: a %v has no windows", s.offset, l.Algorithm)
	}
	if s.offset < 0 || s.offset >= max(l.Period, 1) || s.offset%time.Microsecond != 0 {
		return fmt.Errorf("offset is %v, want whole microseconds, 0 up to the period, %v", s.offset, l.Period)
	}
	if s.calendar == NoCalendar {
		return nil
	}
	if int(s.calendar) >= len(calendarNames) {
		return fmt.Errorf("calendar is %d, want Daily, Weekly or Monthly", s.calendar)
	}
	if l.Algorithm != FixedWindow || s.offset != 0 {
		return fmt.Errorf("calendar is %v, want a fixed_window without offset", s.calendar)
	}
	if want := s.calendar.nominal(); l.Period != want {
		return fmt.Errorf("period is %v, want %v for a calendar that is %v", l.Period, want, s.calendar)
	}
	return nil
}

// String is what Limit.String adds.
func (s shape) String() (text string) {
	if s.step != 0 {
		text += fmt.Sprintf(" in steps of %d", s.step)
	}
	if s.start != 0 {
		text += fmt.Sprintf(" starting with %d", s.start-1)
	}
	if s.offset != 0 {
		text += fmt.Sprintf(" offset %v", s.offset)
	}
	if s.calendar != NoCalendar {
		text += " " + s.calendar.String()
		if s.zone != nil {
			text += " in " + s.zone.String()
		}
	}
	return text
}
