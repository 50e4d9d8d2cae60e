package core_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func TestRetryAfterOfTwoPerThreeSeconds(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.Per(2, 3*time.Second).WithBurst(1))})
	l.Check(ctx, user("u"))
	if got := retryAfter(t, l.Check(ctx, user("u"))); got != 2 {
		t.Errorf("Retry-After %d, want 2", got)
	}
	c.set(1400 * ms)
	if got := retryAfter(t, l.Check(ctx, user("u"))); got != 1 {
		t.Errorf("at 1.4 s: Retry-After %d, want 1", got)
	}
	c.set(2 * time.Second)
	if !l.Check(ctx, user("u")).Allowed {
		t.Error("refused after the two seconds it was told")
	}
}

// A lone client that waits as told is admitted, and no smaller number of seconds would have done.
func TestRetryAfterIsTheSmallestThatIsEnough(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 4))
	denials := 0
	for range 1500 {
		limit := core.Per(1+rng.Int64N(1<<rng.IntN(20)), time.Duration(1+rng.Int64N(1<<(20+rng.IntN(28)))))
		if rng.IntN(2) == 0 {
			limit.Burst = 1 + rng.Int64N(1<<rng.IntN(20))
		}
		if limit.Validate() != nil || float64(limit.Period)/float64(limit.Quota)*float64(limit.Capacity()) > 1<<61 {
			continue // no limit, or one whose ticks are longer than a nanosecond
		}
		l, c := limiting(t, core.Policy{core.PerUser(limit)})
		for range 4 {
			r := cost(user("u"), 1+rng.Int64N(limit.Capacity()))
			d := l.Check(ctx, r)
			if !d.Allowed {
				denials++
				checkWait(t, seed, l, c, r, d)
			}
			c.advance(time.Duration(rng.Int64N(int64(limit.Period))))
		}
	}
	if denials < 1000 {
		t.Errorf("seed %d: %d denials are too few to tell", seed, denials)
	}
}

func checkWait(t *testing.T, seed uint64, l *core.Limiter, c *clock, r core.Request, d core.Decision) {
	t.Helper()
	at, wait := time.Duration(c.ns.Load()), time.Duration(retryAfter(t, d))*time.Second
	peekAt := func(instant time.Duration) bool {
		c.set(instant)
		return l.Peek(ctx, r).Allowed
	}
	switch { // in the order of time: what says nothing any more may be swept, and the clock goes back only at the end
	case wait < time.Second || d.RetryAfter <= 0:
		t.Fatalf("seed %d: %v tells %v", seed, d.Limit, wait)
	case wait > time.Second && peekAt(at+wait-time.Second):
		t.Fatalf("seed %d: %v tells %v, a second less is enough", seed, d.Limit, wait)
	case peekAt(at + d.RetryAfter - 1):
		t.Fatalf("seed %d: %v admits a nanosecond before %v", seed, d.Limit, d.RetryAfter)
	case !peekAt(at + d.RetryAfter):
		t.Fatalf("seed %d: %v refuses after exactly %v", seed, d.Limit, d.RetryAfter)
	case !peekAt(at + wait):
		t.Fatalf("seed %d: %v refuses after %v", seed, d.Limit, wait)
	case !peekAt(at + 2*wait): // with all the jitter that there may be
		t.Fatalf("seed %d: %v refuses after twice %v", seed, d.Limit, wait)
	case d.ResetAfter > d.RetryAfter || d.ResetAfter <= 0:
		t.Fatalf("seed %d: %v: next unit in %v, but the wait is %v", seed, d.Limit, d.ResetAfter, d.RetryAfter)
	}
	c.set(at)
}

// With several levels the wait is that of the slowest, and enough for all.
func TestRetryAfterCoversEveryLevel(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerIP(core.PerSecond(1)), core.PerUser(core.PerMinute(1)), core.PerEndpoint(core.Per(1, 10*time.Second))})
	r := on("192.0.2.1", "u", "GET /")
	l.Check(ctx, r)
	d := l.Check(ctx, r)
	if d.RetryAfter != time.Minute || d.Level != "user" || d.Limit != core.PerMinute(1) || d.Reason != core.Quota {
		t.Errorf("%+v, want the user level's minute", d)
	}
	for _, part := range d.Levels() {
		if !part.Denied || part.RetryAfter == 0 || part.RetryAfter > d.RetryAfter {
			t.Errorf("%+v", part)
		}
	}
	c.advance(time.Minute - 1)
	if l.Check(ctx, r).Allowed {
		t.Error("admitted early")
	}
	c.advance(1)
	if !l.Check(ctx, r).Allowed {
		t.Error("refused on time")
	}
}

// Neither a full nor an empty bucket, refused twice or not, shows a number that is none.
func TestNumbersAreNeverNegativeAndWaitsOnlyOnDenials(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerSecond(2))})
	for i := range 40 {
		d := l.Check(ctx, cost(user("u"), 1+int64(i%3)))
		if d.Remaining < 0 || d.Remaining > 2 || d.RetryAfter < 0 || d.ResetAfter < 0 || d.ResetAfter > time.Second || d.Delay != 0 {
			t.Errorf("%+v", d)
		}
		if d.Allowed != (retryAfter(t, d) == 0) && d.Reason != core.Never {
			t.Errorf("allowed %v with Retry-After %d", d.Allowed, retryAfter(t, d))
		}
		if d.Allowed != (d.Reason == core.None) || (d.Allowed && d.RetryAfter != 0) {
			t.Errorf("allowed %v for reason %v with a wait of %v", d.Allowed, d.Reason, d.RetryAfter)
		}
		c.advance(70 * ms)
	}
}
