package fallback

import (
	"math"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// scaled is a bucket of the local half: this replica's share of the limit, in units of at
// least one, and refilled at the share of its rate.
func (s *Store) scaled(b *core.Bucket) core.Bucket {
	local := *b
	if b.Limit.Ban() != (core.Ban{}) {
		return local
	}
	l := core.Limit{Quota: b.Limit.Quota, Period: b.Limit.Period, Burst: b.Limit.Capacity()}
	if s.share < 1 {
		l.Burst = max(1, int64(float64(l.Burst)*s.share+1e-6)) // a share such as 1/3 is not exact
		l.Period = stretch(l.Period, s.share)
	}
	local.Limit = l
	return local
}

func stretch(d time.Duration, share float64) time.Duration {
	if longer := math.Ceil(float64(d) / share); longer < math.MaxInt64 {
		return time.Duration(longer)
	}
	return math.MaxInt64
}
