package engine

import (
	"context"

	"github.com/go-redis/redis_rate/v10"
)

func openRedisRate(s Setup) (Engine, error) {
	rdb := client(s)
	limiter := redis_rate.NewLimiter(rdb)
	limit := redis_rate.Limit{Rate: int(s.Limit.Quota), Burst: int(s.Limit.Capacity()), Period: s.Limit.Period}
	return eachLevel(s, func() (ask, error) {
		return func(ctx context.Context, key string) (bool, error) {
			result, err := limiter.Allow(ctx, key, limit)
			if err != nil {
				return false, err
			}
			return result.Allowed > 0, nil
		}, nil
	}, rdb.Close)
}
