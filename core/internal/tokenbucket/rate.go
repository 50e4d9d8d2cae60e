// Package tokenbucket is the arithmetic of the token bucket that every store shares.
//
// A bucket's whole state is one integer: the instant at which it will be full again
// (the theoretical arrival time of the generic cell rate algorithm, ITU-T I.371).
// What lies between now and that instant is the bucket's debt. Charging adds the time
// that the units take to come back; time passing pays it off; nothing else changes it.
// All of it is integer arithmetic, so waiting exactly as long as told is always enough.
package tokenbucket

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// MaxUnits bounds quota, burst and cost. Up to here one unit's time is at least some
// thousand ticks in every resolution, which keeps rounding below 0.1 %.
const MaxUnits = 1_000_000_000_000

// maxCapacity, in ticks, leaves room for a clock beside it in an int64, and in milliseconds it
// is still a number of seconds that a double holds exactly.
const maxCapacity = 1 << 62

// Rate is a limit turned into ticks. Make one with Compile.
type Rate struct {
	Unit     int64 // ticks in which one unit comes back
	Capacity int64 // ticks in which an empty bucket fills: the largest debt
	PerSec   int64 // ticks in a second: 1e9, less only for buckets that take over 146 years to fill
}

// Compile turns quota units per period, up to burst at once, into ticks. One unit's time
// is rounded up to a tick. Errors begin with the name of the field at fault.
func Compile(quota int64, period time.Duration, burst int64) (Rate, error) {
	switch {
	case quota < 1 || quota > MaxUnits:
		return Rate{}, fmt.Errorf("quota is %d, want 1 to %d", quota, int64(MaxUnits))
	case period <= 0:
		return Rate{}, fmt.Errorf("period is %v, want more than 0", period)
	case burst < 1 || burst > MaxUnits:
		return Rate{}, fmt.Errorf("burst is %d, want 1 to %d, or 0 for the quota", burst, int64(MaxUnits))
	case quota > int64(period):
		return Rate{}, fmt.Errorf("quota is %d per %v, want at most 1000000000 units a second", quota, period)
	}
	if r, ok := fit(int64(period), quota, burst, 1e9); ok {
		return r, nil
	}
	for _, perSec := range [...]int64{1e6, 1e3} {
		if r, ok := fit(ceilDiv(int64(period), int64(time.Second)/perSec), quota, burst, perSec); ok {
			return r, nil
		}
	}
	return Rate{}, fmt.Errorf("burst is %d, which at %d per %v takes longer than time can be counted to refill", burst, quota, period)
}

// fit counts in ticks of which period has so many, if what it takes to fill can be counted in them.
func fit(period, quota, burst, perSec int64) (Rate, bool) {
	unit := ceilDiv(period, quota)
	hi, lo := bits.Mul64(uint64(unit), uint64(burst))
	return Rate{Unit: unit, Capacity: int64(lo), PerSec: perSec}, hi == 0 && lo <= maxCapacity
}

// Cost is the debt that n units make, saturating above any capacity.
func (r Rate) Cost(n int64) int64 {
	hi, lo := bits.Mul64(uint64(max(n, 0)), uint64(r.Unit))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// Admits reports whether a bucket that owes debt can owe cost more.
func (r Rate) Admits(debt, cost int64) bool { return cost <= r.Capacity-debt }

// Debit is the debt after a charge of cost that nothing refuses: at most an empty bucket's, but
// never less than it was.
func (r Rate) Debit(debt, cost int64) int64 {
	if r.Admits(debt, cost) {
		return debt + cost
	}
	return max(debt, r.Capacity)
}

// Remaining is how many whole units a bucket that owes debt still holds.
func (r Rate) Remaining(debt int64) int64 { return max(r.Capacity-debt, 0) / r.Unit }

// Wait is how long until a bucket that owes debt admits cost: 0 when it does now.
// Waiting exactly that long is enough.
func (r Rate) Wait(debt, cost int64) time.Duration {
	return r.Duration(max(cost-(r.Capacity-debt), 0))
}

// Next is how long until one more whole unit is back: 0 for a full bucket.
func (r Rate) Next(debt int64) time.Duration {
	if debt <= 0 {
		return 0
	}
	return r.Duration((debt-1)%r.Unit + 1)
}

// Left is Remaining and Next, which differ by what one division leaves over.
func (r Rate) Left(debt int64) (units int64, next time.Duration) {
	if debt <= 0 || debt > r.Capacity {
		return r.Remaining(debt), r.Next(debt)
	}
	free := uint64(r.Capacity - debt)
	whole := free / uint64(r.Unit)
	return int64(whole), r.Duration(r.Unit - int64(free-whole*uint64(r.Unit)))
}

// Duration turns ticks into a duration, saturating at its largest value.
func (r Rate) Duration(ticks int64) time.Duration {
	if r.PerSec == int64(time.Second) {
		return time.Duration(ticks)
	}
	tick := int64(time.Second) / r.PerSec
	if ticks > math.MaxInt64/tick {
		return math.MaxInt64
	}
	return time.Duration(ticks * tick)
}

// Ticks turns a time in nanoseconds into ticks, rounded down as a clock is.
func (r Rate) Ticks(ns int64) int64 {
	if r.PerSec == int64(time.Second) {
		return ns
	}
	tick := int64(time.Second) / r.PerSec
	if ns < 0 {
		return -ceilDiv(-ns, tick)
	}
	return ns / tick
}

// Split gives ticks as whole seconds and nanoseconds, the form in which a script that
// knows only doubles can hold them exactly.
func (r Rate) Split(ticks int64) (sec, ns int64) {
	return ticks / r.PerSec, ticks % r.PerSec * (int64(time.Second) / r.PerSec)
}

// Join is the inverse of Split, saturating where another resolution's ticks do not fit.
func (r Rate) Join(sec, ns int64) int64 {
	part := ns / (int64(time.Second) / r.PerSec)
	if sec > (math.MaxInt64-part)/r.PerSec {
		return math.MaxInt64
	}
	return sec*r.PerSec + part
}

// ceilDiv rounds a/b up, for positive numbers however large.
func ceilDiv(a, b int64) int64 { return int64(uint64(a-1)/uint64(b)) + 1 }
