package tokenbucket_test

import (
	"math"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// FuzzWaitIsExact: waiting exactly as long as told is enough, and one tick less is not. What
// remains and when the next unit is back are the same truth told in other words.
func FuzzWaitIsExact(f *testing.F) {
	f.Add(int64(2), int64(3*time.Second), int64(1), int64(1_500_000_000), int64(1))
	f.Add(int64(1), int64(30*24*time.Hour), int64(1_000_000_000), int64(5), int64(1_000_000_000))
	f.Add(int64(1_000_000_000), int64(time.Hour), int64(1), int64(3600), int64(1))
	f.Add(int64(100), int64(time.Minute), int64(100), int64(58_200_000_000), int64(5))
	f.Add(int64(1), int64(4*time.Second), int64(tokenbucket.MaxUnits), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(int64(7), int64(math.MaxInt64), int64(1), int64(math.MaxInt64), int64(1))
	f.Fuzz(func(t *testing.T, quota, period, burst, debt, units int64) {
		r, err := tokenbucket.Compile(quota, time.Duration(period), burst)
		if err != nil {
			return
		}
		if r.Unit < 1 || r.Capacity != r.Unit*burst || r.Capacity > 1<<62 {
			t.Fatalf("compiled to %+v", r)
		}
		debt = int64(uint64(debt) % uint64(r.Capacity+1))
		units = max(int64(uint64(units)&math.MaxInt64), 1)
		cost := r.Cost(units)
		checkWait(t, r, debt, cost, units <= burst)
		checkRemaining(t, r, debt)
	})
}

func checkWait(t *testing.T, r tokenbucket.Rate, debt, cost int64, possible bool) {
	tick := int64(time.Second) / r.PerSec
	wait := r.Wait(debt, cost)
	if (wait == 0) != r.Admits(debt, cost) || wait < 0 {
		t.Fatalf("%+v owes %d, asked for %d: wait %d, admits %v", r, debt, cost, wait, r.Admits(debt, cost))
	}
	if !possible {
		if r.Admits(0, cost) {
			t.Fatalf("%+v admits %d, which is above its capacity", r, cost)
		}
		return
	}
	if wait == math.MaxInt64 || wait == 0 { // saturated: 292 years
		return
	}
	if int64(wait)%tick != 0 {
		t.Fatalf("%+v: wait of %d is no whole number of ticks", r, wait)
	}
	later := debt - int64(wait)/tick
	if later < 0 || !r.Admits(later, cost) {
		t.Fatalf("%+v owes %d, asked for %d: waiting %v is not enough", r, debt, cost, wait)
	}
	if r.Admits(later+1, cost) {
		t.Fatalf("%+v owes %d, asked for %d: waiting one tick less than %v is enough", r, debt, cost, wait)
	}
}

func checkRemaining(t *testing.T, r tokenbucket.Rate, debt int64) {
	left := r.Remaining(debt)
	if left < 0 || !r.Admits(debt, r.Cost(left)) || r.Admits(debt, r.Cost(left+1)) {
		t.Fatalf("%+v owes %d: %d remain, but what it admits is another number", r, debt, left)
	}
	tick := int64(time.Second) / r.PerSec
	next := r.Next(debt)
	if units, soon := r.Left(debt); units != left || soon != next {
		t.Fatalf("%+v owes %d: %d left and the next in %v at once, %d and %v one by one", r, debt, units, soon, left, next)
	}
	if debt == 0 || next == math.MaxInt64 {
		if debt == 0 && next != 0 {
			t.Fatalf("%+v is full and promises another unit in %v", r, next)
		}
		return
	}
	later := debt - int64(next)/tick
	if next <= 0 || later < 0 || r.Remaining(later) != left+1 || r.Remaining(later+1) != left {
		t.Fatalf("%+v owes %d: next unit in %v is wrong", r, debt, next)
	}
}
