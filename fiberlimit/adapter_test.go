package fiberlimit_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/fiberlimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		Name:  "fiberlimit",
		Build: build,
		Lacks: map[adaptertest.Feature]string{
			adaptertest.ClientGone: "fiber's user context does not end when the client leaves",
			adaptertest.HTTPWriter: "fiber has no http.ResponseWriter",
		},
	})
}

// server is a fiber app as the suite knows servers.
type server struct{ *fiber.App }

func (s server) Serve(l net.Listener) error {
	if err := s.Listener(l); err != nil {
		return err
	}
	return http.ErrServerClosed
}

func (s server) Close() error { return s.Shutdown() }

func build(s adaptertest.Service) adaptertest.Server {
	config := fiber.Config{DisableStartupMessage: true}
	if s.OnError != "" {
		config.ErrorHandler = func(c *fiber.Ctx, err error) error {
			code := http.StatusInternalServerError
			if fe, ok := errors.AsType[*fiber.Error](err); ok {
				code = fe.Code
			}
			c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
			return c.Status(code).SendString(s.OnError)
		}
	}
	app := fiber.New(config)
	app.Use(func(c *fiber.Ctx) error {
		for name, value := range s.Outer {
			c.Set(name, value)
		}
		return c.Next()
	}, recovery(s.Recovered))
	for _, h := range middlewares(s.Mounts) {
		app.Use(h)
	}
	register(app, s.Routes)
	for _, g := range s.Groups {
		register(app.Group(g.Prefix, middlewares(g.Mounts)...), g.Routes)
	}
	return server{app}
}

func recovery(recovered func(any)) fiber.Handler {
	return func(c *fiber.Ctx) (err error) {
		defer func() {
			if v := recover(); v != nil {
				if recovered != nil {
					recovered(v)
				}
				err = fiber.NewError(http.StatusInternalServerError)
			}
		}()
		return c.Next()
	}
}

func register(r fiber.Router, routes []adaptertest.Route) {
	for _, route := range routes {
		path, _, wild := strings.Cut(route.Path, "*")
		if wild {
			path += "*"
		}
		handlers := append(middlewares(route.Mounts), func(c *fiber.Ctx) error { return route.Handler(call(c)) })
		if route.Method == http.MethodGet {
			r.Get(path, handlers...)
		} else {
			r.Add(route.Method, path, handlers...)
		}
	}
}

func middlewares(mounts []adaptertest.Mount) []fiber.Handler {
	var out []fiber.Handler
	for _, m := range mounts {
		out = append(out, fiberlimit.New(m.Limiter, dialect.Options(m)...))
	}
	return out
}

var dialect = adaptertest.Dialect[*fiber.Ctx, fiberlimit.Option]{
	View: call, User: fiberlimit.WithUser, Key: fiberlimit.WithKey, Proxies: fiberlimit.WithProxies,
	Cost: fiberlimit.WithCost, Skip: fiberlimit.WithSkip, MaxDelay: fiberlimit.WithMaxDelay,
	Policy: fiberlimit.WithPolicy, Deny: deny, RefundOn: fiberlimit.WithRefundOn,
}

func deny(f adaptertest.Deny) fiberlimit.Option {
	if f == nil {
		return fiberlimit.WithDeny(nil)
	}
	return fiberlimit.WithDeny(func(c *fiber.Ctx, d core.Decision) error { return f(call(c), d) })
}

// fiberCall does what a fiber handler does.
type fiberCall struct{ c *fiber.Ctx }

func call(c *fiber.Ctx) adaptertest.Call { return fiberCall{c} }

// Header is fiber's own string, over a buffer in reuse: nothing may keep it.
func (f fiberCall) Header(name string) string { return f.c.Get(name) }

func (f fiberCall) Context() context.Context { return f.c.UserContext() }

func (f fiberCall) Stored() (core.Decision, bool) {
	d, ok := f.c.Locals(fiberlimit.LocalsKey).(core.Decision)
	return d, ok
}

func (f fiberCall) Reply(status int, contentType, body string) error {
	f.c.Set(fiber.HeaderContentType, contentType)
	return f.c.Status(status).SendString(body)
}

func (f fiberCall) Fail(status int) error { return fiber.NewError(status) }

func (f fiberCall) Stream(contentType string, run func(send func(chunk string) error)) error {
	f.c.Set(fiber.HeaderContentType, contentType)
	f.c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		run(func(chunk string) error {
			if _, err := w.WriteString(chunk); err != nil {
				return err
			}
			return w.Flush()
		})
	})
	return nil
}

func (f fiberCall) Hijack(run func(net.Conn)) error {
	f.c.Context().HijackSetNoResponse(true)
	f.c.Context().Hijack(run)
	return nil
}

func (fiberCall) Writer() http.ResponseWriter { return nil }
