package fallback

import (
	"math/bits"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// maxSpan bounds the time to full of buckets whose debts are told here, in nanoseconds: 73 years.
const maxSpan = 1 << 61

// unitOf is the time in which one unit of a limit comes back, as every store rounds it. It is none where the
// bucket takes longer to fill than can be told.
func unitOf(l *core.Limit) (unit int64, ok bool) {
	unit = (int64(l.Period)-1)/l.Quota + 1
	hi, lo := bits.Mul64(uint64(unit), uint64(l.Capacity()))
	return unit, hi == 0 && lo < maxSpan
}

// owes is the time in which a bucket, of which that was said, will be full. Of a token bucket it is exact.
func owes(l *core.Limit, o *core.Outcome) (debt int64, ok bool) {
	unit, ok := unitOf(l)
	short := l.Capacity() - o.Remaining
	if !ok || short <= 0 {
		return 0, ok
	}
	if next := int64(o.ResetAfter); l.Algorithm == core.TokenBucket && 0 < next && next < unit {
		return (short-1)*unit + next, true
	}
	return short * unit, true
}

// shared turns the time that a share of a limit takes to refill into that in which the limit itself
// refills as many units.
func sharedTime(local *core.Limit, whole *core.Limit, t int64) time.Duration {
	slow, ok := unitOf(local)
	unit, good := unitOf(whole)
	if !ok || !good {
		return 0
	}
	return time.Duration(min(float64(t)*float64(unit)/float64(slow), float64(unit*whole.Capacity())))
}
