package tokenbucket_test

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// slack is by how much the compiled rate is below the one asked for: the time of one unit as
// compiled, over the exact time, less 1.
func slack(r tokenbucket.Rate, quota int64, period time.Duration) *big.Rat {
	compiled := new(big.Rat).SetFrac64(r.Unit, r.PerSec)                 // seconds
	exact := new(big.Rat).SetFrac64(int64(period), quota)                // nanoseconds
	exact.Quo(exact, new(big.Rat).SetInt64(int64(time.Second)))          // seconds
	return compiled.Sub(compiled.Quo(compiled, exact), big.NewRat(1, 1)) // share
}

func checkRate(t *testing.T, quota int64, period time.Duration, burst int64) {
	t.Helper()
	r, err := tokenbucket.Compile(quota, period, burst)
	if err != nil {
		return // what fits is another test's subject
	}
	s := slack(r, quota, period)
	if s.Sign() < 0 {
		t.Errorf("%d per %v burst %d: faster than asked for by %v", quota, period, burst, s.FloatString(9))
	}
	if s.Cmp(big.NewRat(1, 1000)) >= 0 {
		t.Errorf("%d per %v burst %d: slower than asked for by %v", quota, period, burst, s.FloatString(9))
	}
}

// Up to a million units a second, what comes back in the long run is what was asked for within
// 0.1 %, and never more, in every resolution.
func TestLongRunRateIsWithinATenthOfAPercent(t *testing.T) {
	for _, quota := range []int64{1, 2, 3, 7, 999, 1000, 99_999, 999_983, 999_999, 1_000_000} {
		for _, period := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour} {
			for _, burst := range []int64{1, quota, 1e9, 1e12} {
				checkRate(t, quota, period, burst)
			}
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 20_000 {
		period := time.Duration(1 + rng.Int64N(1<<(1+rng.IntN(62))))
		most := int64(period) / 1000 // a million a second
		if most < 1 {
			continue
		}
		quota := 1 + rng.Int64N(min(most, tokenbucket.MaxUnits))
		checkRate(t, quota, period, 1+rng.Int64N(1<<(1+rng.IntN(39))))
	}
}

// An hour of a greedy client's life: the burst, and then the rate.
func TestGreedyClientGetsBurstAndRate(t *testing.T) {
	for _, c := range []struct {
		quota  int64
		period time.Duration
		burst  int64
		units  int64 // in one hour
	}{
		{1, time.Second, 1, 1 + 3600},
		{3, 7 * time.Second, 3, 3 + 1542}, // 3600 s / 2.333333334 s = 1542.85
		{10, 100 * time.Millisecond, 10, 10 + 360_000},
		{1_000_000_000, time.Hour, 1, 1 + 1_000_000_000},
	} {
		r := compile(t, c.quota, c.period, c.burst)
		// What the hour pays for, on top of a full bucket.
		ticks := r.Join(3600, 0)
		if got := r.Remaining(0) + ticks/r.Unit; got != c.units {
			t.Errorf("%d per %v burst %d: %d units in an hour, want %d", c.quota, c.period, c.burst, got, c.units)
		}
	}
}
