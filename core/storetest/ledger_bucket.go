package storetest

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// debt is the time that it takes to pay off what was charged to a bucket that refills continuously.
func (g ledger) debt(l core.Limit, now time.Time) time.Duration {
	if l.Algorithm != core.TokenBucket && l.Algorithm != core.LeakyBucket || l.Step() > 0 {
		return 0
	}
	var full time.Time // when it is full
	known := false
	begin := func(l core.Limit, at time.Time) (capacity time.Duration) {
		capacity = unitTime(l) * time.Duration(l.Capacity())
		if known && l.Start() < l.Capacity() && !at.Before(full.Add(capacity)) {
			known = false // it was not used for long
		}
		if !known {
			full = at.Add(unitTime(l) * time.Duration(l.Capacity()-l.Start()))
		}
		known, full = true, later(full, at)
		return capacity
	}
	for _, e := range g {
		capacity, cost := begin(e.limit, e.at), unitTime(e.limit)*time.Duration(e.units)
		switch e.what {
		case "judged":
			full = earlier(full, e.at.Add(capacity))
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
	return min(full.Sub(now), capacity)
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
func (g ledger) owedInSteps(l core.Limit, now time.Time) int64 {
	var owed, last, full int64 // last and full are numbers of steps
	known := false
	begin := func(l core.Limit, at time.Time) (step int64) {
		step = at.UnixMicro() / l.Interval().Microseconds()
		if known && l.Start() < l.Capacity() && step >= full+ceil(l.Capacity(), l.Step()) {
			known = false
		}
		if !known {
			owed, last = l.Capacity()-l.Start(), step
		}
		known, owed, last = true, max(owed-(step-last)*l.Step(), 0), step
		return step
	}
	for i, e := range g {
		step := begin(e.limit, e.at)
		switch e.what {
		case "judged":
			owed = min(owed, e.limit.Capacity())
		case "charged":
			owed += e.units
		case "debited":
			owed = max(owed, min(owed+e.units, e.limit.Capacity()))
		case "refunded":
			owed -= min(e.units, owed, g[:i].unpaid(e.of, e.at))
		case "reset":
			owed = 0
		}
		full = step + ceil(owed, e.limit.Step())
	}
	begin(l, now)
	return min(owed, l.Capacity())
}

// unpaid is how many units of those owed right after a charge time has not given back.
func (g ledger) unpaid(of *entry, now time.Time) int64 {
	for i, e := range g {
		if e.what == "charged" && e.at.Equal(of.at) && e.units == of.units && e.ends.Equal(of.ends) {
			owed := g[:i].owedInSteps(e.limit, e.at) + e.units
			every := e.limit.Interval().Microseconds()
			return max(owed-(now.UnixMicro()/every-e.at.UnixMicro()/every)*e.limit.Step(), 0)
		}
	}
	return 0
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }
