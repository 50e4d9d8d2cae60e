package core_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// anyLimit makes a valid limit of an algorithm, with all that it can have.
func anyLimit(t testing.TB, rng *rand.Rand, a core.Algorithm) core.Limit {
	zone := berlin(t)
	for {
		period := time.Duration(1+rng.Int64N(1<<rng.IntN(34))) * time.Microsecond
		l := core.Per(1+rng.Int64N(40), period).With(a)
		switch a {
		case core.TokenBucket:
			l.Period = l.Period * time.Duration(l.Quota) // so that there are steps
			l.Burst = 1 + rng.Int64N(40)
			l = l.WithStep(rng.Int64N(l.Burst + 1)).WithStart(rng.Int64N(l.Burst + 1))
		case core.LeakyBucket:
			l.Burst = 1 + rng.Int64N(40)
		case core.FixedWindow:
			if rng.IntN(2) == 0 {
				l = core.PerCalendar(l.Quota, []core.Calendar{core.Daily, core.Weekly, core.Monthly}[rng.IntN(3)], zone)
				break
			}
			fallthrough
		case core.SlidingWindow:
			l = l.WithOffset(time.Duration(rng.Int64N(int64(period/time.Microsecond))) * time.Microsecond)
		case core.SlidingLog:
		}
		if l.Validate() == nil {
			return l
		}
	}
}

// In every way of counting a lone client that waits as told is admitted, exactly then, and no smaller
// number of seconds in Retry-After would have done.
func TestRetryAfterIsTheSmallestByEveryAlgorithm(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 5))
	for _, a := range everyAlgorithm {
		denials := 0
		for range 400 {
			limit := anyLimit(t, rng, a)
			l, c := limiting(t, core.Policy{core.PerUser(limit)})
			c.advance(time.Duration(rng.Int64N(int64(400 * day))))
			for range 12 {
				r := cost(user("u"), 1+rng.Int64N(limit.Capacity()))
				if d := l.Check(ctx, r); !d.Allowed {
					denials++
					checkWait(t, seed, l, c, r, d)
				}
				c.advance(time.Duration(rng.Int64N(int64(limit.Period)) >> rng.IntN(8)))
			}
		}
		if denials < 500 {
			t.Errorf("seed %d: %v: %d denials are too few to tell", seed, a, denials)
		}
	}
}

// A client that obeys the header alone is admitted by every way, at each of its requests.
func TestWhoObeysIsAdmittedByEveryWay(t *testing.T) {
	all := ways(t)
	// These fill long before the second is over that the header tells.
	all["fast start"] = way{limit: core.PerSecond(1000).WithBurst(3).WithStart(0)}
	all["fast steps and start"] = way{limit: core.Per(3, 30*ms).WithStep(3).WithStart(0)}
	for name, w := range all {
		l, c := limiting(t, core.Policy{core.PerUser(w.limit)})
		waited := 0
		for range 40 {
			d := l.Check(ctx, user("u"))
			if d.Allowed {
				continue
			}
			waited++
			c.advance(time.Duration(retryAfter(t, d)) * time.Second)
			if d := l.Check(ctx, user("u")); !d.Allowed {
				t.Errorf("%s: refused after waiting as told: %+v", name, d)
			}
		}
		if waited < 5 {
			t.Errorf("%s: waited %d times, want it refused more often", name, waited)
		}
	}
}

// Who is told to wait for long by one limit has been forgotten by another of the same level that is full, and
// forgets, much sooner: one that does not start full tells of a wait again, a short one.
func TestALongWaitBesideAStartMayBeFollowedByAShortOne(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerSecond(10).WithStart(0), core.PerDay(1))})
	for i, want := range []int64{1, 0, 86399, 1, 0} {
		d := l.Check(ctx, user("u"))
		if got := retryAfter(t, d); got != want || d.Allowed != (want == 0) {
			t.Errorf("request %d: %+v, Retry-After %d, want %d", i, d, got, want)
		}
		c.advance(time.Duration(max(want, 1)) * time.Second)
	}
}
