package engine

import (
	"context"
	"time"

	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/time/rate"
)

func openEcho(s Setup) (Engine, error) {
	store := middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate: rate.Every(unit(s.Limit)), Burst: int(s.Limit.Capacity()), ExpiresIn: time.Hour,
	})
	return eachLevel(s, func() (ask, error) {
		return func(_ context.Context, key string) (bool, error) { return store.Allow(key) }, nil
	}, nil)
}
