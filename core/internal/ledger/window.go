package ledger

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Window is the one that an instant lies in.
func Window(l core.Limit, at time.Time) (start, end time.Time) {
	if c := l.Calendar(); c != core.NoCalendar {
		local := at.In(l.Location())
		return c.Edge(local, 0), c.Edge(local, 1)
	}
	us, period, offset := at.UnixMicro(), l.Period.Microseconds(), l.Offset().Microseconds()
	first := (us-offset)/period*period + offset
	return time.UnixMicro(first), time.UnixMicro(first + period)
}

// counts are the units in each window, by when it began, of a limit that counts so many in one.
func (g Ledger) counts(used func(counts map[int64]int64, e Entry) int64) map[int64]int64 {
	counts := map[int64]int64{}
	for _, e := range g {
		start, _ := Window(e.limit, e.at)
		switch e.what {
		case "charged":
			counts[start.UnixMicro()] += e.units
		case "debited":
			counts[start.UnixMicro()] += max(min(e.units, e.limit.Quota-used(counts, e)), 0)
		case "refunded":
			charged, _ := Window(e.of.limit, e.of.at)
			counts[charged.UnixMicro()] -= e.units
		case "reset":
			clear(counts)
		}
	}
	return counts
}

func (g Ledger) inWindow(l core.Limit, now time.Time) int64 {
	used := func(counts map[int64]int64, e Entry) int64 {
		start, _ := Window(e.limit, e.at)
		return counts[start.UnixMicro()]
	}
	return used(g.counts(used), Entry{at: now, limit: l})
}

// inSlidingWindow weighs the window before by how many of its slices, at most 2^20 in all, lie no
// longer than a period back.
func (g Ledger) inSlidingWindow(l core.Limit, now time.Time) int64 {
	used := func(counts map[int64]int64, e Entry) int64 {
		start, end := Window(e.limit, e.at)
		period := e.limit.Period.Microseconds()
		slice := ceil(period, 1<<20)
		left, all := ceil(end.UnixMicro()-e.at.UnixMicro(), slice), ceil(period, slice)
		return counts[start.UnixMicro()] + (counts[start.UnixMicro()-period]*left+all/2)/all
	}
	return used(g.counts(used), Entry{at: now, limit: l})
}

// inLog is what was charged less than a period ago.
func (g Ledger) inLog(l core.Limit, now time.Time) int64 {
	charged := map[int64]int64{} // by instant
	used := func(l core.Limit, at time.Time) (units int64) {
		for us, n := range charged {
			if us > at.UnixMicro()-l.Period.Microseconds() {
				units += n
			}
		}
		return units
	}
	for _, e := range g {
		switch e.what {
		case "charged":
			charged[e.at.UnixMicro()] += e.units
		case "debited":
			charged[e.at.UnixMicro()] += max(min(e.units, e.limit.Quota-used(e.limit, e.at)), 0)
		case "refunded":
			charged[e.of.at.UnixMicro()] -= e.units
		case "reset":
			clear(charged)
		}
	}
	return used(l, now)
}
