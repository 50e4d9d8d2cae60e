package engine

import (
	"context"
	"sync"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislimiter"
)

// openRueidis shares one client among the levels. Its connections carry the commands of all
// callers at once, which is its default, so there is no pool to set.
func openRueidis(s Setup) (Engine, error) {
	option := rueidis.ClientOption{InitAddress: []string{s.Addr}}
	client := sync.OnceValues(func() (rueidis.Client, error) { return rueidis.NewClient(option) })
	return eachLevel(s, func() (ask, error) {
		l, err := rueidislimiter.NewRateLimiter(rueidislimiter.RateLimiterOption{
			ClientBuilder: func(rueidis.ClientOption) (rueidis.Client, error) { return client() },
			Limit:         int(s.Limit.Capacity()), Window: s.Limit.Period,
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string) (bool, error) {
			result, err := l.Allow(ctx, key)
			return err == nil && result.Allowed, err
		}, nil
	}, func() error {
		rdb, err := client()
		if err == nil {
			rdb.Close()
		}
		return err
	})
}
