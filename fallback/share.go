package fallback

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// portion is this replica's part of every limit: given by hand, or one of the replicas that were counted.
// Never given and never counted, it is the whole.
type portion struct {
	given    float64 // 0: not given
	replicas atomic.Int64
}

func (p *portion) share() float64 {
	if p.given > 0 {
		return p.given
	}
	return 1 / float64(max(p.replicas.Load(), 1))
}

// assumed reports whether nobody has told or counted.
func (p *portion) assumed() bool { return p.given == 0 && p.replicas.Load() == 0 }

// scaled is a bucket of the local half: this replica's share of the limit, in units of at
// least one, and refilled at the share of its rate.
func (s *Store) scaled(b *core.Bucket) core.Bucket {
	local := *b
	l := core.Limit{Quota: b.Limit.Quota, Period: b.Limit.Period, Burst: b.Limit.Capacity()}
	if share := s.portion.share(); share < 1 {
		l.Burst = max(1, partOf(l.Burst, share))
		l.Period = stretch(l.Period, share)
	}
	local.Limit = l
	return local
}

// partOf is in whole units.
func partOf(units int64, share float64) int64 {
	return int64(float64(units)*share + 1e-6) // a share such as 1/3 is not exact
}

func stretch(d time.Duration, share float64) time.Duration {
	if longer := math.Ceil(float64(d) / share); longer < math.MaxInt64 {
		return time.Duration(longer)
	}
	return math.MaxInt64
}
