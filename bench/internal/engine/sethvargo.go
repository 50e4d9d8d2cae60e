package engine

import (
	"context"

	"github.com/sethvargo/go-limiter/memorystore"
)

func openSethvargo(s Setup) (Engine, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(s.Limit.Capacity()), Interval: s.Limit.Period})
	if err != nil {
		return nil, err
	}
	return eachLevel(s, func() (ask, error) {
		return func(ctx context.Context, key string) (bool, error) {
			_, _, _, ok, err := store.Take(ctx, key)
			return ok, err
		}, nil
	}, func() error { return store.Close(context.Background()) })
}
