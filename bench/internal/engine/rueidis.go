package engine

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislimiter"
)

// openRueidis shares one client among the levels. Its connections carry the commands of all
// callers at once, which is its default, so there is no pool to set.
func openRueidis(s Setup) (Engine, error) {
	rdb, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}})
	if err != nil {
		return nil, err
	}
	shared := func(rueidis.ClientOption) (rueidis.Client, error) { return rdb, nil }
	return eachLevel(s, func() (ask, error) {
		l, err := rueidislimiter.NewRateLimiter(rueidislimiter.RateLimiterOption{
			ClientBuilder: shared, Limit: int(s.Limit.Capacity()), Window: s.Limit.Period,
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string) (bool, error) {
			result, err := l.Allow(ctx, key)
			return err == nil && result.Allowed, err
		}, nil
	}, func() error {
		rdb.Close()
		return nil
	})
}
