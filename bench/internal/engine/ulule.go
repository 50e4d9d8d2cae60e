package engine

import (
	"context"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
)

func openUlule(s Setup) (Engine, error) {
	rdb := client(s)
	store, err := ululeredis.NewStore(rdb)
	if err != nil {
		return nil, err
	}
	return ululeLevels(s, store, rdb.Close)
}

func openUluleMemory(s Setup) (Engine, error) {
	return ululeLevels(s, memory.NewStore(), nil)
}

func ululeLevels(s Setup, store limiter.Store, closing func() error) (Engine, error) {
	return eachLevel(s, func() (ask, error) {
		// A fixed window has no burst: it admits the capacity in each period.
		l := limiter.New(store, limiter.Rate{Period: s.Limit.Period, Limit: s.Limit.Capacity()})
		return func(ctx context.Context, key string) (bool, error) {
			c, err := l.Get(ctx, key)
			return err == nil && !c.Reached, err
		}, nil
	}, closing)
}
