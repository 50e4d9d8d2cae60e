// Command fiber is a small fiber service behind a limiter.
//
//	go run ./examples/fiber
//	go run ./examples/fiber -redis redis://127.0.0.1:6379/0
package main

import (
	"bufio"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v2/middleware/recover"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/examples/internal/service"
	"github.com/tierlimit/tierlimit/fiberlimit"
)

func main() { service.Main("fiber", server) }

func server(s *service.Service) service.Server {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(recover.New(), fiberlimit.New(s.Limiter, fiberlimit.WithProxies(s.Proxies), fiberlimit.WithUser(user)))
	app.Get("/items/:id", item)
	app.Post("/login", func(c *fiber.Ctx) error { return answer(c, []byte(service.Login)) })
	app.Get("/stream", stream)
	app.Get("/healthz", func(c *fiber.Ctx) error { return answer(c, s.Health()) })
	app.Get("/metrics", adaptor.HTTPHandler(s.Metrics))
	return listening{app}
}

// listening is a fiber app under the names of net/http.
type listening struct{ *fiber.App }

func (l listening) Serve(listener net.Listener) error { return l.Listener(listener) }
func (l listening) Close() error                      { return l.ShutdownWithTimeout(time.Second) }

// user takes the caller's word for who they are, so that you can try it with curl. A real
// service verifies an identity first, and gives the limiter what it has verified.
func user(c *fiber.Ctx) string { return c.Get("X-User") }

func item(c *fiber.Ctx) error {
	d, _ := core.FromContext(c.UserContext())
	return answer(c, service.Item(c.Params("id"), d))
}

func answer(c *fiber.Ctx, body []byte) error {
	c.Set(fiber.HeaderContentType, service.JSON)
	return c.Send(body)
}

func stream(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, service.EventStream)
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		for _, event := range service.Events {
			if _, err := w.WriteString(event); err != nil {
				return
			}
			if err := w.Flush(); err != nil {
				return
			}
			time.Sleep(service.EventGap)
		}
	})
	return nil
}
