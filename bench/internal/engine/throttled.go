package engine

import (
	"context"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/throttled/throttled/v2/store/memstore"
)

func openThrottled(s Setup) (Engine, error) {
	rdb := client(s)
	store, err := goredisstore.NewCtx(rdb, "throttled:")
	if err != nil {
		return nil, err
	}
	return throttledLevels(s, store, rdb.Close)
}

// openThrottledMemory does not bound the keys: with a bound, each look-up also takes the lock
// of an LRU list, and the oldest keys are forgotten whatever they owe.
func openThrottledMemory(s Setup) (Engine, error) {
	store, err := memstore.NewCtx(0)
	if err != nil {
		return nil, err
	}
	return throttledLevels(s, store, nil)
}

func throttledLevels(s Setup, store throttled.GCRAStoreCtx, closing func() error) (Engine, error) {
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(1, unit(s.Limit)), MaxBurst: int(s.Limit.Capacity()) - 1}
	return eachLevel(s, func() (ask, error) {
		l, err := throttled.NewGCRARateLimiterCtx(store, quota)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string) (bool, error) {
			limited, _, err := l.RateLimitCtx(ctx, key, 1)
			return err == nil && !limited, err
		}, nil
	}, closing)
}
