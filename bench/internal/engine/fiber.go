package engine

import (
	"context"
	"net"
	"strconv"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/gofiber/storage/redis/v3"
	"github.com/valyala/fasthttp"
)

// fiberLimiter is fiber's middleware, which can be asked only through an app: one limiter a
// level in front of a handler that does nothing, without a network.
type fiberLimiter struct {
	handler fasthttp.RequestHandler
	calls   sync.Pool
	storage *redis.Storage
}

type keysOf struct{}

func openFiber(s Setup) (Engine, error) {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	e := &fiberLimiter{storage: redis.New(redis.Config{Host: host, Port: number, PoolSize: s.Pool})}
	app := fiber.New()
	for i := range s.Levels {
		app.Use(limiter.New(limiter.Config{
			Max: int(s.Limit.Capacity()), Expiration: s.Limit.Period, Storage: e.storage,
			KeyGenerator: func(c *fiber.Ctx) string { return c.Context().UserValue(keysOf{}).(*Request).Keys[i] },
		}))
	}
	app.Get("/", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
	e.handler = app.Handler()
	e.calls.New = func() any {
		c := &fasthttp.RequestCtx{}
		c.Request.SetRequestURI("/")
		return c
	}
	return e, nil
}

func (e *fiberLimiter) Take(_ context.Context, r *Request) (bool, error) {
	c := e.calls.Get().(*fasthttp.RequestCtx)
	defer e.calls.Put(c)
	c.Response.Reset()
	c.SetUserValue(keysOf{}, r)
	e.handler(c)
	return c.Response.StatusCode() == fiber.StatusNoContent, nil
}

func (e *fiberLimiter) Close() error { return e.storage.Close() }
