package fiberlimit_test

import (
	"net"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/tierlimit/tierlimit/fiberlimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

func BenchmarkMiddleware(b *testing.B) {
	user := fiberlimit.WithUser(func(*fiber.Ctx) string { return adaptertest.NullUser })
	bench(b, "bare")
	bench(b, "admitted", fiberlimit.New(adaptertest.Null(b, true), user))
	bench(b, "denied", fiberlimit.New(adaptertest.Null(b, false), user))
}

func bench(b *testing.B, name string, middleware ...fiber.Handler) {
	b.Run(name, func(b *testing.B) {
		app := fiber.New()
		for _, m := range middleware {
			app.Use(m)
		}
		app.Get("/items/:id", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
		handler := app.Handler()
		c, from := argument(handler), argument(handler)
		from.Request.SetRequestURI("/items/7")
		c.Init(&from.Request, &net.TCPAddr{IP: net.IPv4(203, 0, 113, 77), Port: 4711}, nil)
		b.ReportAllocs()
		for b.Loop() {
			c.Response.Reset()
			c.ResetUserValues()
			handler(c)
		}
	})
}

// argument is a new one for f: fiber's own context below, whose package is no direct dependency.
func argument[T any](func(*T)) *T { return new(T) }
