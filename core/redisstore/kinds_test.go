package redisstore_test

import (
	"math/rand/v2"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// kinds are all ways to count. Each makes the limits that one key has: they differ in what a policy
// may change while a bucket lives.
var kinds = map[string]func(r *rand.Rand) []core.Limit{
	"token bucket":   func(r *rand.Rand) []core.Limit { return changing(r, 3, randomBucket) },
	"leaky bucket":   func(r *rand.Rand) []core.Limit { return changing(r, 3, leaky) },
	"start":          randomStart,
	"steps":          randomSteps,
	"fixed window":   func(r *rand.Rand) []core.Limit { return changing(r, 3, window(r, core.FixedWindow)) },
	"calendar":       randomCalendar,
	"sliding window": func(r *rand.Rand) []core.Limit { return changing(r, 3, window(r, core.SlidingWindow)) },
	"sliding log":    func(r *rand.Rand) []core.Limit { return changing(r, 3, log(r)) },
}

// changing makes limits that take turns. They count in the same ticks, for what is less than a tick of
// one may be lost or not: none takes longer to fill than nanoseconds can count. One that does is alone.
func changing(r *rand.Rand, n int, limit func(*rand.Rand) core.Limit) (limits []core.Limit) {
	const longest = 140 * 365 * 24 * time.Hour
	if l := limit(r); r.IntN(4) == 0 {
		return []core.Limit{l}
	}
	for len(limits) < n {
		if l := limit(r); float64(l.Period)*float64(l.Capacity())/float64(l.Quota) < float64(longest) {
			limits = append(limits, l)
		}
	}
	return limits
}

// units is mostly small, at times up to most.
func units(r *rand.Rand, most int64) int64 {
	if r.IntN(8) == 0 {
		return 1 + r.Int64N(most)
	}
	return 1 + r.Int64N(min(most, 20))
}

func period(r *rand.Rand) time.Duration {
	usual := []time.Duration{100 * time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour, 30 * 24 * time.Hour}
	if i := r.IntN(len(usual) + 1); i < len(usual) {
		return usual[i]
	}
	return time.Duration(1+r.Int64N(1<<r.IntN(50))) * time.Microsecond
}

func randomBucket(r *rand.Rand) core.Limit {
	l := core.Per(1, period(r)+time.Duration(r.IntN(2)*r.IntN(1000)))
	l.Quota = units(r, min(1e12, int64(l.Period)))
	for l.Burst = units(r, 1e12); l.Validate() != nil; {
		l.Quota, l.Burst = (l.Quota+1)/2, (l.Burst+1)/2
	}
	return l
}

func leaky(r *rand.Rand) core.Limit { return randomBucket(r).With(core.LeakyBucket) }

func started(r *rand.Rand) core.Limit {
	l := randomBucket(r)
	if l.Capacity() == 1 {
		return l.WithStart(0)
	}
	return l.WithStart(r.Int64N(l.Capacity()))
}

// randomStart is one limit: where another takes longer to fill, its key may be new for the one already.
func randomStart(r *rand.Rand) []core.Limit { return []core.Limit{started(r)} }

// randomSteps has one interval and one step for all: another starts clean.
func randomSteps(r *rand.Rand) (limits []core.Limit) {
	step := units(r, 1e6)
	interval := time.Duration(max(int64(period(r)/time.Microsecond), step)) * time.Microsecond
	start := r.IntN(2) == 0
	return changing(r, 3, func(r *rand.Rand) core.Limit {
		l := core.Per(step, interval).WithStep(step).WithBurst(step + units(r, 1e9) - 1)
		for l.Validate() != nil { // it takes too long to fill
			l = l.WithBurst(max(l.Burst/2, step))
		}
		if start {
			l = l.WithStart(r.Int64N(l.Burst))
		}
		return l
	})
}

func window(r *rand.Rand, a core.Algorithm) func(*rand.Rand) core.Limit {
	every := period(r)
	offset := time.Duration(r.IntN(2)) * time.Duration(r.Int64N(int64(every/time.Microsecond))) * time.Microsecond
	return func(r *rand.Rand) core.Limit {
		most := min(int64(every), 1<<32-1)
		return core.Per(units(r, most), every).With(a).WithOffset(offset)
	}
}

func log(r *rand.Rand) func(*rand.Rand) core.Limit {
	every := period(r)
	return func(r *rand.Rand) core.Limit {
		return core.Per(units(r, min(int64(every), 1e6)), every).With(core.SlidingLog)
	}
}

var zones = []string{"UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana", "Pacific/Apia"}

func randomCalendar(r *rand.Rand) []core.Limit {
	zone, err := time.LoadLocation(zones[r.IntN(len(zones))])
	if err != nil {
		panic(err)
	}
	c := core.Calendar(1 + r.IntN(3))
	return changing(r, 3, func(r *rand.Rand) core.Limit { return core.PerCalendar(units(r, 1e12), c, zone) })
}
