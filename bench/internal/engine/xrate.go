package engine

import (
	"context"
	"hash/maphash"
	"sync"

	"golang.org/x/time/rate"
)

const xrateShards = 256

// xrate is what services without a library write: a map of golang.org/x/time/rate limiters,
// in shards so that they do not wait for one lock. It never forgets a key.
type xrate struct {
	seed   maphash.Seed
	every  rate.Limit
	burst  int
	shards [xrateShards]struct {
		sync.Mutex
		limiters map[string]*rate.Limiter
	}
}

func openXRate(s Setup) (Engine, error) {
	e := &xrate{seed: maphash.MakeSeed(), every: rate.Every(unit(s.Limit)), burst: int(s.Limit.Capacity())}
	for i := range e.shards {
		e.shards[i].limiters = map[string]*rate.Limiter{}
	}
	return eachLevel(s, func() (ask, error) { return e.allow, nil }, nil)
}

func (e *xrate) allow(_ context.Context, key string) (bool, error) {
	shard := &e.shards[maphash.String(e.seed, key)%xrateShards]
	shard.Lock()
	l := shard.limiters[key]
	if l == nil {
		l = rate.NewLimiter(e.every, e.burst)
		shard.limiters[key] = l
	}
	shard.Unlock()
	return l.Allow(), nil
}
