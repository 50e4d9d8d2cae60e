package storetest

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/ledger"
)

// calendarTests: days, weeks and months are as long as they are.
var calendarTests = map[string]func(*testing.T, *harness){
	"windows of a calendar end when its days, weeks and months do": shaping(func(t *testing.T, h *harness) {
		for _, c := range []struct {
			calendar core.Calendar
			zone     string
			at       string // an instant within the window, in the zone
			long     time.Duration
		}{
			{core.Daily, "UTC", "2026-10-25T01:30", day},
			{core.Daily, "Europe/Berlin", "2026-10-25T12:00", 25 * time.Hour},
			{core.Daily, "America/New_York", "2026-11-01T23:59", 25 * time.Hour},
			{core.Monthly, "UTC", "2026-12-31T23:59", 31 * day},
			{core.Monthly, "Asia/Kathmandu", "2027-02-01T00:00", 28 * day},
			{core.Daily, "America/Havana", "2027-03-14T01:00", 23 * time.Hour},
			{core.Daily, "America/New_York", "2027-03-14T12:00", 23 * time.Hour},
			{core.Weekly, "America/New_York", "2027-03-14T12:00", 7*day - time.Hour},
			{core.Monthly, "America/New_York", "2027-03-20T12:00", 31*day - time.Hour},
			{core.Weekly, "Europe/Berlin", "2027-03-29T00:00", 7 * day},
			{core.Daily, "Australia/Lord_Howe", "2027-04-04T12:00", day + 30*time.Minute},
			{core.Monthly, "Europe/Berlin", "2027-04-30T23:59", 30 * day},
			{core.Monthly, "UTC", "2028-02-29T12:00", 29 * day},
		} {
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Skip("no time zones on this machine")
			}
			at, err := time.ParseInLocation("2006-01-02T15:04", c.at, zone)
			if err != nil {
				t.Fatal(err)
			}
			h.Clock.Advance(at.Sub(h.Clock.Now()))
			h.wholeWindow(t, bucket(c.at+c.zone+c.calendar.String(), core.PerCalendar(3, c.calendar, zone)), c.long)
		}
	}),
}

// wholeWindow spends a window from wherever the clock is to its end, and the one after it: the first is
// so long.
func (h *harness) wholeWindow(t *testing.T, b core.Bucket, long time.Duration) {
	t.Helper()
	start, end := ledger.Window(b.Limit, h.Clock.Now())
	equal(t, b.Level+": length", end.Sub(start), long)
	equal(t, b.Level+": admitted", h.spend(t, b, 5), 3)
	o := h.take(t, b)[0]
	equal(t, b.Level+": retry after", o.RetryAfter, end.Sub(h.Clock.Now()))
	equal(t, b.Level+": reset after", o.ResetAfter, o.RetryAfter)
	h.Clock.Advance(o.RetryAfter - time.Microsecond)
	equal(t, b.Level+": admitted before its end", h.spend(t, b, 5), 0)
	h.Clock.Advance(time.Microsecond)
	equal(t, b.Level+": admitted at its end", h.spend(t, b, 5), 3)
}
