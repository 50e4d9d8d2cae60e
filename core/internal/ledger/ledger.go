// Package ledger is a slow model of every way to count, which tests hold the stores to.
package ledger

import (
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Ledger is all that ever happened to one bucket. What the bucket holds is found by going through
// all of it again each time, so that it is easy to see that it is right; a store is held to that.
// Only the roundings are shared: one unit's time up to a nanosecond, windows, logs and steps on
// whole microseconds, what a sliding window weighs up to a unit.
type Ledger []Entry

// Entry is one thing that happened.
type Entry struct {
	at    time.Time
	what  string // judged, charged, debited, refunded, reset
	limit core.Limit
	units int64
	of    *Entry    // refunded: the charge
	ends  time.Time // charged to a bucket: when that was to be paid off
	owed  int64     // charged to a bucket with steps: the units to be paid off then
}

// room is how many units the bucket holds at an instant.
func (g Ledger) room(l core.Limit, now time.Time) int64 {
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
	return int64(time.Duration(l.Capacity())*UnitTime(l)-g.debt(l, now)) / int64(UnitTime(l))
}

// UnitTime is the time of one unit of a limit that refills continuously.
func UnitTime(l core.Limit) time.Duration {
	return (l.Period + time.Duration(l.Quota) - 1) / time.Duration(l.Quota)
}

// until is how long it takes until the bucket holds so many units. It only gets more until it is full. A
// guess that is right needs no search.
func (g Ledger) until(l core.Limit, now time.Time, units int64, guess time.Duration) time.Duration {
	if guess > 0 && g.room(l, now.Add(guess)) >= units && g.room(l, now.Add(guess-1)) < units {
		return guess
	}
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

// Read is what a store says of a cost. What is owed beyond the time to full is forgiven before. It is found
// sooner where a store has said it.
func (g Ledger) Read(l core.Limit, now time.Time, cost int64, said core.Outcome) core.Outcome {
	g.Note("judged", l, now, 0, nil)
	room := g.room(l, now)
	o := core.Outcome{Admits: cost <= room, Remaining: max(room, 0)}
	if !o.Admits {
		o.RetryAfter = g.until(l, now, min(cost, l.Capacity()), said.RetryAfter)
	}
	if l.Algorithm == core.LeakyBucket && o.Admits {
		o.Delay = g.debt(l, now)
	}
	o.ResetAfter = g.next(l, now, max(room, 0), said.ResetAfter)
	return o
}

// next is until there is another unit, or the window ends.
func (g Ledger) next(l core.Limit, now time.Time, room int64, guess time.Duration) time.Duration {
	full := room >= l.Capacity()
	switch {
	case l.Algorithm == core.FixedWindow && full:
		return 0
	case l.Algorithm == core.FixedWindow:
		_, end := Window(l, now)
		return end.Sub(now)
	case l.Algorithm == core.TokenBucket && l.Step() == 0, l.Algorithm == core.LeakyBucket:
		if g.debt(l, now) == 0 {
			return 0
		}
	case full:
		return 0
	}
	return g.until(l, now, room+1, guess)
}

// Charge notes what was charged, and gives it to be refunded.
func (g *Ledger) Charge(l core.Limit, now time.Time, units int64) *Entry {
	e := Entry{at: now, what: "charged", limit: l, units: units}
	e.owed = g.owedInSteps(l, now) + units
	e.ends = now.Add(g.debt(l, now) + time.Duration(units)*UnitTime(l))
	*g = append(*g, e)
	return &e
}

// Note notes anything else: that the bucket was judged by a take, debited, refunded some of a charge or reset.
func (g *Ledger) Note(what string, l core.Limit, now time.Time, units int64, of *Entry) {
	*g = append(*g, Entry{at: now, what: what, limit: l, units: units, of: of})
}

// String tells the latest entries.
func (g Ledger) String() (text string) {
	for _, e := range g[max(len(g)-12, 0):] {
		text += fmt.Sprintf("\n%d %s %d of %v", e.at.UnixNano(), e.what, e.units, e.limit)
		if e.of != nil {
			text += fmt.Sprintf(" charged at %d", e.of.at.UnixNano())
		}
	}
	return text
}
