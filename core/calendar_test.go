package core_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Where a day has no midnight, or two, it begins with its first instant nevertheless.
func TestWindowsBeginWithTheFirstInstantOfADay(t *testing.T) {
	for _, name := range []string{
		"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana", "Asia/Beirut",
		"America/Asuncion", "America/Santiago", "Africa/Cairo", "Asia/Tehran", "Pacific/Chatham", "America/Sao_Paulo",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err) // Go brings them along
		}
		for at := time.Date(2015, 1, 1, 12, 0, 0, 0, zone); at.Year() < 2035; at = at.AddDate(0, 0, 1) {
			for _, c := range []core.Calendar{core.Daily, core.Weekly, core.Monthly} {
				start, end := c.Edge(at, 0), c.Edge(at, 1)
				if number(c, start.Add(-1)) == number(c, at) || number(c, start) != number(c, at) || number(c, end.Add(-1)) != number(c, at) || number(c, end) == number(c, at) {
					t.Errorf("%v of %v is taken to be %v to %v", c, at, start, end)
				}
				if c == core.Weekly && start.Weekday() != time.Monday {
					t.Errorf("the week of %v begins on %v", at, start)
				}
			}
			if t.Failed() {
				break
			}
		}
	}
}

// number is of the day, week or month, each with another one.
func number(c core.Calendar, at time.Time) int {
	switch c {
	case core.Weekly:
		y, w := at.ISOWeek()
		return 100*y + w
	case core.Monthly:
		return 100*at.Year() + int(at.Month())
	}
	return 1000*at.Year() + at.YearDay()
}
