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

// scaled is a bucket of the local half: this replica's share of the limit by its own algorithm, in
// units of at least one.
func (s *Store) scaled(b *core.Bucket) core.Bucket {
	local := *b
	share := s.portion.share()
	switch l := &local.Limit; {
	case share == 1 || l.Ban() != (core.Ban{}):
	case l.Algorithm == core.TokenBucket || l.Algorithm == core.LeakyBucket:
		*l = shareOfBucket(b.Limit, share)
	default:
		*l = shareOfWindow(b.Limit, share)
	}
	return local
}

// shareOfBucket refills at the share of the rate, and continuously: steps of less than a unit are none.
func shareOfBucket(l core.Limit, share float64) core.Limit {
	out := core.Limit{Quota: l.Quota, Period: stretch(l.Period, share), Algorithm: l.Algorithm}
	out.Burst = max(1, partOf(l.Capacity(), share))
	if start := l.Start(); start < l.Capacity() {
		return out.WithStart(min(partOf(start, share), out.Burst))
	}
	return out
}

// shareOfWindow has the share of the quota in each period. Where that is less than a unit, the period is
// longer instead; but a day or a month cannot be.
func shareOfWindow(l core.Limit, share float64) core.Limit {
	part := partOf(l.Quota, share)
	if part < 1 && l.Calendar() == core.NoCalendar {
		longer := stretch(l.Period, share*float64(l.Quota))
		l.Period = longer - longer%time.Microsecond
	}
	l.Quota, l.Burst = max(1, part), 0
	return l
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
