// Package counter is the arithmetic of the algorithms that need more than the instant of a token
// bucket: windows, logs, and buckets that refill in steps or do not start full. The stores hold
// states and ask a Counter what they mean; lua/ of redisstore is its twin and does the same on
// the same integers.
//
// Instants are nanoseconds since the Unix epoch. Windows, logs and steps count time in whole
// microseconds, rounded down, as Redis' own clock does.
package counter

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// State is what one bucket holds; what its fields mean is its Counter's. The zero State is that
// of a bucket never seen.
type State struct {
	Known bool  // it was seen before
	At    int64 // buckets: when it is full again; windows: when the window began
	N     int64 // windows: units in it; buckets that do not start full: ticks in a second
	Prev  int64 // sliding window: units in the one before
	Log   []Entry
}

// Entry is units that were charged at one instant, in microseconds.
type Entry struct{ At, Units int64 }

// View is what a state says at an instant.
type View struct {
	Admits    bool          // there is room for the cost
	Remaining int64         // whole units left
	Wait      time.Duration // until the cost is admitted: 0 if it is now, or never will be
	Next      time.Duration // until another unit is back, or the window ends; 0 when full
}

// Retry is when it is worth asking again where the cost is not admitted: a cost above the quota never is,
// and a key for which there is no room may find some any time.
func (v View) Retry() time.Duration {
	if v.Wait > 0 {
		return v.Wait
	}
	return max(v.Next, time.Millisecond)
}

// Counter is a limit that is ready to count.
type Counter interface {
	// Roll brings the state up to now, and forgives once what lies beyond the time to full. It
	// reports whether the state has to be stored even where the request is denied.
	Roll(s *State, now int64) (stale bool)
	// Look says what a state that is up to now holds.
	Look(s *State, now, cost int64) View
	// Charge adds a cost that was admitted, and returns what Refund needs to know of it.
	Charge(s *State, now, cost int64) core.Receipt
	// Debit adds a cost whether it is admitted or not, down to empty at most.
	Debit(s *State, now, cost int64)
	// Refund takes a charge back, as far as it still counts.
	Refund(s *State, now, cost int64, r core.Receipt)
	// Reset makes the state say nothing.
	Reset(s *State, now int64)
	// Spell gives the limit and a cost as the numbers that a script knows them by, and the letter
	// of its algorithm.
	Spell(cost int64) (letter string, numbers []int64)
	// SpellReceipt gives a receipt as the script knows it.
	SpellReceipt(r core.Receipt) [2]int64
	// Told makes a state that looks as the script's did at now of what the script told, and
	// returns what is left of that; ok is false where it is too short.
	Told(now int64, numbers []int64) (s State, rest []int64, ok bool)
	// Ends is the instant from which the state says nothing any more.
	Ends(s *State) int64
}

// Plain reports whether the instant of a token bucket is all there is to a limit.
func Plain(l core.Limit) bool {
	return l.Algorithm == core.LeakyBucket || (l.Algorithm == core.TokenBucket && !l.Shaped())
}

// Of makes the Counter of a limit at a time, or returns nil for one that is Plain. The limit is valid.
func Of(l core.Limit, now int64) Counter {
	switch {
	case Plain(l):
		return nil
	case l.Ban() != core.Ban{}:
		return newBans(l.Ban())
	case l.Algorithm == core.FixedWindow:
		return newFixed(l, now)
	case l.Algorithm == core.SlidingWindow:
		return newSliding(l)
	case l.Algorithm == core.SlidingLog:
		return slidingLog{quota: l.Quota, period: micros(int64(l.Period))}
	case l.Step() > 0:
		return newSteps(l)
	}
	return newPartial(l)
}

// micros rounds nanoseconds down to whole microseconds. An instant before the epoch has no place
// in a counter.
func micros(ns int64) int64 { return ns / 1000 }

// until is the time from an instant to one in microseconds, saturating.
func until(now, us int64) time.Duration {
	const most = (1<<63 - 1) / 1000
	if us >= most {
		return 1<<63 - 1
	}
	return time.Duration(max(us*1000-now, 0))
}

// instant turns microseconds since the epoch into nanoseconds, saturating.
func instant(us int64) int64 {
	const most = (1<<63 - 1) / 1000
	return min(us, most) * 1000
}

// told takes n numbers of what a script told: counts and instants that a double holds.
func told(numbers []int64, n int) (got, rest []int64, ok bool) {
	if len(numbers) < n {
		return nil, nil, false
	}
	for _, x := range numbers[:n] {
		if x < 0 || x > 1<<53 {
			return nil, nil, false
		}
	}
	return numbers[:n], numbers[n:], true
}
