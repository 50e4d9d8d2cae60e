package ledger

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// debt is the time that it takes to pay off what was charged to a bucket that refills continuously.
func (g Ledger) debt(l core.Limit, now time.Time) time.Duration {
	if l.Algorithm != core.TokenBucket && l.Algorithm != core.LeakyBucket || l.Step() > 0 {
		return 0
	}
	var full time.Time // when it is full
	known := false     // until it was full for long
	begin := func(l core.Limit, at time.Time) (capacity time.Duration) {
		capacity = UnitTime(l) * time.Duration(l.Capacity())
		if known && l.Start() < l.Capacity() && !at.Before(full.Add(capacity)) {
			known = false
		}
		if !known {
			known, full = true, at.Add(UnitTime(l)*time.Duration(l.Capacity()-l.Start()))
		}
		return capacity
	}
	for _, e := range g {
		capacity, cost := begin(e.limit, e.at), UnitTime(e.limit)*time.Duration(e.units)
		if e.what == "judged" { // to be looked at is not to be used
			full = earlier(full, e.at.Add(capacity))
			continue
		}
		full = later(full, e.at)
		switch e.what {
		case "charged":
			full = full.Add(cost)
		case "debited":
			full = later(full, earlier(full.Add(cost), e.at.Add(capacity)))
		case "refunded":
			if l.Algorithm == core.LeakyBucket && !full.Equal(e.of.ends) {
				break
			}
			back := max(min(cost, e.of.ends.Sub(e.at)), 0)
			full = later(full.Add(-back), e.at)
		case "reset":
			full = e.at
		}
	}
	capacity := begin(l, now)
	return max(min(full.Sub(now), capacity), 0)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// owedInSteps is debt in units for a bucket that gets several at once.
func (g Ledger) owedInSteps(l core.Limit, now time.Time) int64 {
	if l.Step() == 0 {
		return 0
	}
	var owed, last, full int64 // last and full are numbers of steps
	known := false
	begin := func(l core.Limit, at time.Time) (step int64, fresh bool) {
		step = at.UnixMicro() / l.Interval().Microseconds()
		if known && l.Start() < l.Capacity() && step >= full+ceil(l.Capacity(), l.Step()) {
			known = false
		}
		if !known {
			owed, last, fresh = l.Capacity()-l.Start(), step, true
		}
		known, owed, last = true, max(owed-(step-last)*l.Step(), 0), step
		return step, fresh
	}
	for _, e := range g {
		step, fresh := begin(e.limit, e.at)
		switch e.what {
		case "judged":
			if owed <= e.limit.Capacity() && !fresh {
				continue // to be looked at is not to be used
			}
			owed = min(owed, e.limit.Capacity())
		case "charged":
			owed += e.units
		case "debited":
			owed = max(owed, min(owed+e.units, e.limit.Capacity()))
		case "refunded":
			owed -= min(e.units, owed, e.of.unpaid(e.at))
		case "reset":
			owed = 0
		}
		full = step + ceil(owed, e.limit.Step())
	}
	begin(l, now)
	return min(owed, l.Capacity())
}

// unpaid is how many units of those owed right after a charge time has not given back.
func (of *Entry) unpaid(now time.Time) int64 {
	every := of.limit.Interval().Microseconds()
	return max(of.owed-(now.UnixMicro()/every-of.at.UnixMicro()/every)*of.limit.Step(), 0)
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }
