package redisstore

import (
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

const (
	leaseSpan  = 100 * time.Millisecond // a block is what is spent in this time
	leaseUses  = 16                     // or else what this many requests spend
	leasePause = 100 * time.Millisecond // after a block that was not granted
	leaseIdle  = time.Second            // without a charge, a lease is given up
	leaseShare = 16                     // a block is at most this part of a capacity
	leastBlock = 2                      // units: one saves no call
)

// lease is the present grant of one bucket, and how much of it is spent of late.
type lease struct {
	key   string
	limit core.Limit
	rate  tokenbucket.Rate

	mu       sync.Mutex
	grant    grant
	granted  uint64 // grants so far
	void     uint64 // grants up to this number are nothing to Redis any more: the bucket was reset
	resets   uint64
	spent    float64 // units, each counting less with time and nothing after leaseSpan
	seen     int64   // when that was right: at the last charge
	most     int64   // the largest block to ask for
	again    int64   // no block is asked for before
	fetching bool
	over     bool
	timer    *time.Timer
}

func newLease(b *core.Bucket, key string, now int64) (*lease, error) {
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	if err != nil {
		return nil, err
	}
	return &lease{key: key, limit: b.Limit, rate: rate, seen: now, most: b.Limit.Capacity() / leaseShare}, nil
}

// spend charges the grant if that holds cost. The number is the grant's; 0: it does not.
func (l *lease) spend(cost, now int64, out *core.Outcome) (number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.grant.holds(cost, now) {
		return 0
	}
	*out = l.grant.spend(l.rate, cost, now)
	l.count(cost, now)
	return l.grant.number
}

// putBack undoes a spend. What it came from may be over by now, and is then nothing to spend.
func (l *lease) putBack(number uint64, cost, now int64, receipt core.Receipt) spare {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent = max(l.spent-float64(cost), 0)
	switch {
	case l.grant.number == number && now < l.grant.ends:
		l.grant.left += cost
	case number > l.void:
		return spare{cost, receipt}
	}
	return spare{}
}

// charged notes what Redis has charged for a request.
func (l *lease) charged(cost, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(cost, now)
}

func (l *lease) count(cost, now int64) {
	l.spent = l.late(now) + float64(cost)
	l.seen = max(l.seen, now)
}

// late is what was spent of late.
func (l *lease) late(now int64) float64 {
	age := float64(max(now-l.seen, 0)) / float64(leaseSpan)
	return l.spent * max(1-age, 0)
}

// tend returns what goes back of a grant whose time is over, and whether the lease is idle.
func (l *lease) tend(now int64) (left spare, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return spare{}, false
	}
	if now >= l.grant.ends {
		left, l.grant = l.grant.rest(l.rate, now), grant{}
	}
	if now-l.seen >= int64(leaseIdle) && !l.fetching {
		return left, true
	}
	l.timer.Reset(l.patience(now))
	return left, false
}

// end returns what goes back of the grant. There will be no other, and what requests under way hold
// of this one stays spent: no reset would be heard of here.
func (l *lease) end(now int64) spare {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	left := l.grant.rest(l.rate, now)
	l.over, l.void, l.grant = true, l.granted, grant{}
	return left
}

// forget drops the grant, and any that is on its way.
func (l *lease) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resets++
	l.void, l.grant, l.again = l.granted, grant{}, 0
}
