package web

import (
	"io"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	mgin "github.com/ulule/limiter/v3/drivers/middleware/gin"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	sredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/ginlimit"
)

// Bare is the service without a limiter.
const Bare = "no middleware"

// Kinds are the services that are compared.
var Kinds = []engine.Kind{
	{Name: Bare, Open: open(none), Reference: true},
	{Name: "tierlimit, Redis, 3 levels", Open: open(overRedis), Ours: true},
	{Name: "tierlimit, in process, 3 levels", Open: open(inProcess), Ours: true},
	{Name: "ulule/limiter, Redis, 3 middlewares", Open: open(ululeRedis)},
	{Name: "ulule/limiter, memory, 1 middleware", Open: open(ululeMemory)},
}

func none(engine.Setup) ([]gin.HandlerFunc, io.Closer, error) { return nil, nil, nil }

func inProcess(s engine.Setup) ([]gin.HandlerFunc, io.Closer, error) {
	return ours(s, memstore.New(), nil)
}

func overRedis(s engine.Setup) ([]gin.HandlerFunc, io.Closer, error) {
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: s.Pool})
	shared, err := redisstore.New(rdb)
	if err != nil {
		return nil, nil, err
	}
	store, err := fallback.New(shared)
	if err != nil {
		return nil, nil, err
	}
	return ours(s, store, rdb)
}

func ours(s engine.Setup, store core.Store, rdb io.Closer) ([]gin.HandlerFunc, io.Closer, error) {
	l, err := core.New(store, core.Policy{core.PerIP(s.Limit), core.PerUser(s.Limit), core.PerEndpoint(s.Limit)})
	if err != nil {
		return nil, nil, err
	}
	proxies, err := core.ParseProxies(loopback)
	if err != nil {
		return nil, nil, err
	}
	return []gin.HandlerFunc{ginlimit.New(l, ginlimit.WithProxies(proxies), ginlimit.WithUser(user))}, both{l, rdb}, nil
}

func user(c *gin.Context) string { return c.GetHeader("X-User") }

func endpoint(c *gin.Context) string { return c.FullPath() }

func ululeRedis(s engine.Setup) ([]gin.HandlerFunc, io.Closer, error) {
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: s.Pool})
	var handlers []gin.HandlerFunc
	for i, key := range []mgin.KeyGetter{mgin.DefaultKeyGetter, user, endpoint} {
		store, err := sredis.NewStoreWithOptions(rdb, limiter.StoreOptions{Prefix: engine.LevelName(i)})
		if err != nil {
			return nil, nil, err
		}
		handlers = append(handlers, mgin.NewMiddleware(limiter.New(store, rate(s)), mgin.WithKeyGetter(key)))
	}
	return handlers, rdb, nil
}

func ululeMemory(s engine.Setup) ([]gin.HandlerFunc, io.Closer, error) {
	return []gin.HandlerFunc{mgin.NewMiddleware(limiter.New(memory.NewStore(), rate(s)))}, nil, nil
}

func rate(s engine.Setup) limiter.Rate {
	return limiter.Rate{Period: s.Limit.Period, Limit: s.Limit.Capacity()}
}

// both closes the limiter before the client that it uses.
type both struct{ first, second io.Closer }

func (b both) Close() error {
	err := b.first.Close()
	if b.second != nil && err == nil {
		err = b.second.Close()
	}
	return err
}
