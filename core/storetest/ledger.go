package storetest

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// ledger is all that ever happened to one bucket. What the bucket holds is found by going through
// all of it again each time, so that it is easy to see that it is right; a store is held to that.
// Only the roundings are shared: one unit's time up to a nanosecond, windows, logs and steps on
// whole microseconds, what a sliding window weighs up to a unit.
type ledger []entry

type entry struct {
	at    time.Time
	what  string // judged, charged, debited, refunded, reset
	limit core.Limit
	units int64
	of    *entry    // refunded: the charge
	ends  time.Time // charged to a bucket: when that was to be paid off
	owed  int64     // charged to a bucket with steps: the units to be paid off then
}

// room is how many units the bucket holds at an instant.
func (g ledger) room(l core.Limit, now time.Time) int64 {
	switch {
	case l.Algorithm == core.FixedWindow:
		return l.Quota - g.inWindow(l, now)
	case l.Algorithm == core.SlidingWindow:
		return l.Quota - g.inSlidingWindow(l, now)
	case l.Algorithm == core.SlidingLog:
		return l.Quota - g.inLog(l, now)
	case l.Step() > 0:
		return l.Capacity() - g.owedInSteps(l, now)
	}
	return int64(time.Duration(l.Capacity())*unitTime(l)-g.debt(l, now)) / int64(unitTime(l))
}

func unitTime(l core.Limit) time.Duration {
	return (l.Period + time.Duration(l.Quota) - 1) / time.Duration(l.Quota)
}

// until is how long it takes until the bucket holds so many units. It only gets more until it is full.
func (g ledger) until(l core.Limit, now time.Time, units int64) time.Duration {
	low, high := time.Duration(-1), time.Microsecond
	for g.room(l, now.Add(high)) < units && high < 1<<60 {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; g.room(l, now.Add(middle)) >= units {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// read is what a store says of a cost. What is owed beyond the time to full is forgiven before.
func (g ledger) read(l core.Limit, now time.Time, cost int64) core.Outcome {
	g.note("judged", l, now, 0, nil)
	room := g.room(l, now)
	o := core.Outcome{Admits: cost <= room, Remaining: max(room, 0)}
	if !o.Admits {
		o.RetryAfter = g.until(l, now, min(cost, l.Capacity()))
	}
	if l.Algorithm == core.LeakyBucket && o.Admits {
		o.Delay = g.debt(l, now)
	}
	o.ResetAfter = g.next(l, now, max(room, 0))
	return o
}

// next is until there is another unit, or the window ends.
func (g ledger) next(l core.Limit, now time.Time, room int64) time.Duration {
	full := room >= l.Capacity()
	switch {
	case l.Algorithm == core.FixedWindow && full:
		return 0
	case l.Algorithm == core.FixedWindow:
		_, end := window(l, now)
		return end.Sub(now)
	case l.Algorithm == core.TokenBucket && l.Step() == 0, l.Algorithm == core.LeakyBucket:
		if g.debt(l, now) == 0 {
			return 0
		}
	case full:
		return 0
	}
	return g.until(l, now, room+1)
}

// charge is what was charged, to be refunded.
func (g *ledger) charge(l core.Limit, now time.Time, units int64) *entry {
	e := entry{at: now, what: "charged", limit: l, units: units}
	e.owed = g.owedInSteps(l, now) + units
	e.ends = now.Add(g.debt(l, now) + time.Duration(units)*unitTime(l))
	*g = append(*g, e)
	return &e
}

func (g *ledger) note(what string, l core.Limit, now time.Time, units int64, of *entry) {
	*g = append(*g, entry{at: now, what: what, limit: l, units: units, of: of})
}
