package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Every key expires, not before its state says nothing any more and not much later, whatever was done.
func TestKeysOfEveryAlgorithmExpireInTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now), redisstore.WithDenyCache(0))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	for name, l := range algorithms {
		for round := range 12 {
			b := bucket(fmt.Sprint(name, round), l)
			var out []core.Outcome
			for range 10 {
				began, wrote := time.Now(), true
				x := costing(b, 1+r.Int64N(3))
				switch n := r.IntN(8); {
				case n < 4:
					o := take(t, s, x)
					if wrote = o[0].Charged; wrote {
						out = o
					}
				case n == 4:
					_ = s.Debit(ctx, []core.Bucket{x})
				case n == 5 && out != nil:
					_ = s.Refund(ctx, []core.Bucket{b}, out)
				case n == 6 && r.IntN(2) == 0:
					_ = s.Reset(ctx, []core.Bucket{x})
				default:
					clock.Advance(time.Duration(r.Int64N(int64(40 * time.Minute))))
					wrote = false
				}
				if wrote {
					expires(t, server, s, b, began)
				}
			}
		}
	}
}

// expires checks the key of a bucket that has been written since began.
func expires(t *testing.T, server *redistest.Server, s *redisstore.Store, b core.Bucket, began time.Time) {
	t.Helper()
	ms, _ := server.Do(t, "PTTL", stored(b)).(int64)
	ttl := time.Duration(ms) * time.Millisecond
	o := peek(t, s, costing(b, b.Limit.Capacity()))
	says := o.RetryAfter // until it is full
	if b.Limit.Start() < b.Limit.Capacity() {
		says += b.Limit.Period + 10*time.Second // and for so long it says that it is not new
	}
	most := 2*says + time.Second
	switch {
	case b.Limit.Calendar() != core.NoCalendar: // a month starts when it starts
		most = 32 * 24 * time.Hour
	case b.Limit.Step() > 0: // it may be a step that is about to end
		says, most = says-b.Limit.Interval(), most+b.Limit.Interval()
	case b.Limit.Algorithm == core.SlidingWindow: // the last unit counts for as long as it rounds to one
		most += b.Limit.Period / 2
	}
	switch slow := time.Since(began); {
	case ttl == -2*time.Millisecond && says > 0:
		t.Errorf("%v: there is no key, and it is full in %v", b.Limit, says)
	case ttl == -2*time.Millisecond:
	case ttl <= 0 || ttl < says-slow:
		t.Errorf("%v: the key lives %v, and is needed for %v", b.Limit, ttl, says)
	case ttl > most:
		t.Errorf("%v: the key lives %v, and is needed for %v", b.Limit, ttl, says)
	}
}
