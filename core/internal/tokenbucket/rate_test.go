package tokenbucket_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

func compile(t testing.TB, quota int64, period time.Duration, burst int64) tokenbucket.Rate {
	t.Helper()
	r, err := tokenbucket.Compile(quota, period, burst)
	if err != nil {
		t.Fatalf("Compile(%d, %v, %d): %v", quota, period, burst, err)
	}
	return r
}

// Rates from one unit a month to a million a second, with the smallest and a huge capacity: the
// first call is admitted, and the second exactly when there is a second unit.
func TestExtremeRatesCountTheFirstTwoCalls(t *testing.T) {
	const day = 24 * time.Hour
	rates := []struct {
		quota  int64
		period time.Duration
		wait   time.Duration // of one unit, rounded up to the nanosecond
	}{
		{1, day, day},
		{1, 30 * day, 30 * day},
		{3, 7 * time.Second, 2333333334},
		{1_000_000, time.Second, time.Microsecond},
		{1_000_000_000, time.Hour, 3600},
		{10, 100 * time.Millisecond, 10 * time.Millisecond},
	}
	for _, rate := range rates {
		for _, burst := range []int64{1, 1_000_000_000} {
			r := compile(t, rate.quota, rate.period, burst)
			one := r.Cost(1)
			if !r.Admits(0, one) || r.Wait(0, one) != 0 || r.Next(0) != 0 || r.Remaining(0) != burst {
				t.Errorf("%d per %v burst %d: a full bucket is not full: %+v", rate.quota, rate.period, burst, r)
			}
			if left := r.Remaining(one); left != burst-1 {
				t.Errorf("%d per %v burst %d: %d left after the first, want %d", rate.quota, rate.period, burst, left, burst-1)
			}
			if got := r.Admits(one, one); got != (burst > 1) {
				t.Errorf("%d per %v burst %d: second admitted is %v", rate.quota, rate.period, burst, got)
			}
			if next := r.Next(one); next != rate.wait {
				t.Errorf("%d per %v burst %d: next unit in %v, want %v", rate.quota, rate.period, burst, next, rate.wait)
			}
			var want time.Duration
			if burst == 1 {
				want = rate.wait
			}
			if wait := r.Wait(one, one); wait != want {
				t.Errorf("%d per %v burst %d: second waits %v, want %v", rate.quota, rate.period, burst, wait, want)
			}
		}
	}
}

func TestCompileNamesTheFieldAtFault(t *testing.T) {
	for _, c := range []struct {
		quota  int64
		period time.Duration
		burst  int64
		field  string
	}{
		{0, 1, 1, "quota"},
		{-1, 1, 1, "quota"},
		{tokenbucket.MaxUnits + 1, math.MaxInt64, 1, "quota"},
		{2, 1, 1, "quota"}, // more than 1e9 a second
		{1_000_000_001, time.Second, 1, "quota"},
		{1, 0, 1, "period"},
		{1, -1, 1, "period"},
		{1, 1, 0, "burst"},
		{1, 1, -1, "burst"},
		{1, 1, tokenbucket.MaxUnits + 1, "burst"},
		{1, 1000 * time.Hour, tokenbucket.MaxUnits, "burst"}, // longer than can be counted
	} {
		_, err := tokenbucket.Compile(c.quota, c.period, c.burst)
		if err == nil || !strings.HasPrefix(err.Error(), c.field+" is ") {
			t.Errorf("Compile(%d, %v, %d): error is %v, want one about %s", c.quota, c.period, c.burst, err, c.field)
		}
	}
	for _, c := range [][3]int64{{1, 1, 1}, {1_000_000_000, int64(time.Second), 1}, {tokenbucket.MaxUnits, int64(time.Hour), tokenbucket.MaxUnits}} {
		compile(t, c[0], time.Duration(c[1]), c[2])
	}
}

// A resolution is chosen by what fits: nanoseconds wherever they do.
func TestResolutionIsTheFinestThatFits(t *testing.T) {
	for _, c := range []struct {
		period time.Duration
		burst  int64
		perSec int64
	}{
		{time.Second, 1 << 32, 1e9}, // 4.29e18 ns
		{time.Second, 4_611_686_018, 1e9},
		{time.Second, 4_611_686_019, 1e6}, // beyond 2^62 ns
		{time.Second, 1e12, 1e6},
		{5 * time.Second, 1e12, 1e3}, // beyond 2^62 us
	} {
		if r := compile(t, 1, c.period, c.burst); r.PerSec != c.perSec || r.Duration(r.Unit) != c.period {
			t.Errorf("1 per %v burst %d: %+v, want %d ticks a second", c.period, c.burst, r, c.perSec)
		}
	}
}

func TestNothingOverflows(t *testing.T) {
	for _, r := range []tokenbucket.Rate{
		compile(t, 1, time.Nanosecond, 1),
		compile(t, 1, 24*time.Hour, 1),
		compile(t, 1, 30*24*time.Hour, 1_000_000_000),
		compile(t, 1, 4*time.Second, 1_000_000_000_000),
	} {
		for _, n := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2, math.MaxInt64/r.Unit + 1} {
			cost := r.Cost(n)
			if cost <= r.Capacity && n > r.Capacity/r.Unit {
				t.Errorf("%+v: %d units cost %d, want more than the capacity", r, n, cost)
			}
			for _, debt := range []int64{0, 1, r.Capacity - 1, r.Capacity} {
				if n > r.Remaining(0) && r.Admits(debt, cost) {
					t.Errorf("%+v: a bucket that owes %d admits %d units", r, debt, n)
				}
				if got := r.Debit(debt, cost); got < debt || got > r.Capacity {
					t.Errorf("%+v: debit of %d units of a bucket that owes %d makes %d", r, n, debt, got)
				}
				if r.Wait(debt, cost) < 0 {
					t.Errorf("%+v: wait for %d units is negative", r, n)
				}
			}
		}
		if r.Cost(math.MaxInt64) != math.MaxInt64 || r.Cost(0) != 0 || r.Cost(-1) != 0 || r.Cost(math.MinInt64) != 0 {
			t.Errorf("%+v: costs at the ends are %d, %d, %d", r, r.Cost(math.MaxInt64), r.Cost(0), r.Cost(-1))
		}
		if d := r.Duration(math.MaxInt64); d != math.MaxInt64 {
			t.Errorf("%+v: the longest duration is %v", r, d)
		}
	}
}

func TestDebitStopsAtEmpty(t *testing.T) {
	r := compile(t, 10, time.Second, 10)
	for _, c := range []struct{ debt, units, want int64 }{{0, 3, 3}, {8, 2, 10}, {8, 3, 10}, {10, 1, 10}, {0, 1000, 10}, {4, 0, 4}} {
		if got := r.Debit(c.debt*r.Unit, r.Cost(c.units)); got != c.want*r.Unit {
			t.Errorf("%d units more on a debt of %d: %d ticks, want %d units", c.units, c.debt, got, c.want)
		}
	}
}

func TestSplitAndJoinAreInverse(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, perSec := range []int64{1e9, 1e6, 1e3} {
		r := tokenbucket.Rate{Unit: 1, Capacity: 1, PerSec: perSec}
		for i := range 2000 {
			ticks := rng.Int64N(math.MaxInt64)
			if i < 10 {
				ticks = []int64{0, 1, perSec - 1, perSec, perSec + 1, 1 << 53, 1<<53 + 1, 1 << 62, math.MaxInt64, math.MaxInt64 - 1}[i]
			}
			sec, ns := r.Split(ticks)
			if ns < 0 || ns >= 1e9 || sec < 0 {
				t.Fatalf("seed %d: %d ticks of 1/%d s split into %d s %d ns", seed, ticks, perSec, sec, ns)
			}
			if got := r.Join(sec, ns); got != ticks {
				t.Fatalf("seed %d: %d ticks of 1/%d s come back as %d", seed, ticks, perSec, got)
			}
		}
	}
}

// The longest period that a Duration can say is 292 years: far, and no mistake.
func TestLongestPeriodCompiles(t *testing.T) {
	for _, c := range [][3]int64{{1, math.MaxInt64, 1}, {2, math.MaxInt64, 1}, {1e12, math.MaxInt64, 1e6}, {3, math.MaxInt64 - 1, 100}} {
		compile(t, c[0], time.Duration(c[1]), c[2])
	}
}

// A clock rounds down on both sides of its zero: an instant read later is never the smaller one.
func TestTicksRoundDownBeforeZeroToo(t *testing.T) {
	r := tokenbucket.Rate{PerSec: 1e3}
	for _, c := range [][2]int64{{0, 0}, {999_999, 0}, {1_000_000, 1}, {-1, -1}, {-1_000_000, -1}, {-1_000_001, -2}, {1_999_999, 1}} {
		if got := r.Ticks(c[0]); got != c[1] {
			t.Errorf("%d ns are %d ms, want %d", c[0], got, c[1])
		}
	}
	if got := (tokenbucket.Rate{PerSec: 1e9}).Ticks(-7); got != -7 {
		t.Errorf("-7 ns are %d ns", got)
	}
}
