package storetest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// kind makes the limits of one way to count that one key may have in turn.
type kind struct {
	name      string
	algorithm core.Algorithm
	shaped    bool
	limits    func(r *rand.Rand) []core.Limit
}

var kinds = []kind{
	{"token bucket", core.TokenBucket, false, func(r *rand.Rand) []core.Limit { return changing(r, someBucket) }},
	{"leaky bucket", core.LeakyBucket, false, func(r *rand.Rand) []core.Limit {
		return changing(r, func(r *rand.Rand) core.Limit { return someBucket(r).With(core.LeakyBucket) })
	}},
	{"fixed window", core.FixedWindow, false, func(r *rand.Rand) []core.Limit { return someWindows(r, core.FixedWindow) }},
	{"sliding window", core.SlidingWindow, false, func(r *rand.Rand) []core.Limit { return someWindows(r, core.SlidingWindow) }},
	{"sliding log", core.SlidingLog, false, func(r *rand.Rand) []core.Limit { return someWindows(r, core.SlidingLog) }},
	{"start", core.TokenBucket, true, func(r *rand.Rand) []core.Limit {
		l := someBucket(r)
		return []core.Limit{l.WithStart(r.Int64N(l.Capacity()))}
	}},
	{"steps", core.TokenBucket, true, someSteps},
	{"offset", core.SlidingWindow, true, func(r *rand.Rand) []core.Limit {
		limits := someWindows(r, core.SlidingWindow)
		by := time.Duration(r.Int64N(limits[0].Period.Microseconds())) * time.Microsecond
		for i := range limits {
			limits[i] = limits[i].WithOffset(by)
		}
		return limits
	}},
	{"calendar", core.FixedWindow, true, someCalendar},
}

// runs tells whether a store can run the kind.
func (k kind) runs(s core.Store) bool {
	t := s.Traits()
	return slices.Contains(t.Algorithms, k.algorithm) && (t.Shapes || !k.shaped)
}

func changing(r *rand.Rand, limit func(*rand.Rand) core.Limit) []core.Limit {
	return []core.Limit{limit(r), limit(r), limit(r)}
}

func somePeriod(r *rand.Rand) time.Duration {
	periods := []time.Duration{100 * time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour, day, 30 * day}
	if i := r.IntN(len(periods) + 1); i < len(periods) {
		return periods[i]
	}
	return time.Duration(20+r.Int64N(1<<r.IntN(40))) * time.Microsecond
}

func someBucket(r *rand.Rand) core.Limit {
	l := core.Per(1+r.Int64N(20), somePeriod(r)+time.Duration(r.IntN(2)*r.IntN(1000)))
	if r.IntN(2) == 0 {
		l.Burst = 1 + r.Int64N(30)
	}
	return l
}

func someWindows(r *rand.Rand, a core.Algorithm) []core.Limit {
	every := somePeriod(r)
	return changing(r, func(r *rand.Rand) core.Limit { return core.Per(1+r.Int64N(20), every).With(a) })
}

func someSteps(r *rand.Rand) []core.Limit {
	step := 1 + r.Int64N(10)
	every := somePeriod(r)
	start := r.IntN(2) == 0
	limits := changing(r, func(r *rand.Rand) core.Limit {
		return core.Per(step, every).WithStep(step).WithBurst(step + r.Int64N(20))
	})
	if start {
		return []core.Limit{limits[0].WithStart(r.Int64N(limits[0].Burst))}
	}
	return limits
}

func someCalendar(r *rand.Rand) []core.Limit {
	zone, err := time.LoadLocation([]string{"UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}[r.IntN(4)])
	if err != nil {
		zone = time.FixedZone("west", -5*60*60) // a machine without time zones
	}
	c := []core.Calendar{core.Daily, core.Weekly, core.Monthly}[r.IntN(3)]
	return changing(r, func(r *rand.Rand) core.Limit { return core.PerCalendar(1+r.Int64N(20), c, zone) })
}
