package echolimit_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/echolimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		Name:  "echolimit",
		Build: build,
		Lacks: map[adaptertest.Feature]string{
			adaptertest.HeadByGet: "echo answers HEAD only where a HEAD route is registered",
		},
	})
}

func build(s adaptertest.Service) adaptertest.Server {
	e := echo.New()
	if s.OnError != "" {
		e.HTTPErrorHandler = func(err error, c echo.Context) {
			code := http.StatusInternalServerError
			if he, ok := err.(*echo.HTTPError); ok { //nolint:errorlint // the tests return it bare
				code = he.Code
			}
			_ = c.JSONBlob(code, []byte(s.OnError))
		}
	}
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			for name, value := range s.Outer {
				c.Response().Header().Set(name, value)
			}
			return next(c)
		}
	}, recovery(s.Recovered))
	e.Use(middlewares(s.Mounts)...)
	register(e.Add, s.Routes)
	for _, g := range s.Groups {
		register(e.Group(g.Prefix, middlewares(g.Mounts)...).Add, g.Routes)
	}
	return &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
}

func recovery(recovered func(any)) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			defer func() {
				if v := recover(); v != nil {
					if recovered != nil {
						recovered(v)
					}
					err = echo.NewHTTPError(http.StatusInternalServerError)
				}
			}()
			return next(c)
		}
	}
}

func register(add func(method, path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route, routes []adaptertest.Route) {
	for _, route := range routes {
		add(route.Method, wildcard(route.Path), func(c echo.Context) error { return route.Handler(call(c)) }, middlewares(route.Mounts)...)
	}
}

// wildcard is how echo spells "/files/*path".
func wildcard(path string) string {
	for i := range path {
		if path[i] == '*' {
			return path[:i+1]
		}
	}
	return path
}

func middlewares(mounts []adaptertest.Mount) []echo.MiddlewareFunc {
	var out []echo.MiddlewareFunc
	for _, m := range mounts {
		out = append(out, echolimit.New(m.Limiter, dialect.Options(m)...))
	}
	return out
}

var dialect = adaptertest.Dialect[echo.Context, echolimit.Option]{
	View: call, User: echolimit.WithUser, Key: echolimit.WithKey, Proxies: echolimit.WithProxies,
	Cost: echolimit.WithCost, Skip: echolimit.WithSkip, MaxDelay: echolimit.WithMaxDelay,
	Policy: echolimit.WithPolicy, Deny: deny, RefundOn: echolimit.WithRefundOn,
}

func deny(f adaptertest.Deny) echolimit.Option {
	if f == nil {
		return echolimit.WithDeny(nil)
	}
	return echolimit.WithDeny(func(c echo.Context, d core.Decision) error { return f(call(c), d) })
}

// echoCall does what an echo handler does: by c, not by what c is made of.
type echoCall struct {
	adaptertest.HTTPCall
	c echo.Context
}

func call(c echo.Context) adaptertest.Call {
	return echoCall{adaptertest.HTTPCall{W: c.Response(), R: c.Request()}, c}
}

func (e echoCall) Stored() (core.Decision, bool) {
	d, ok := e.c.Get(echolimit.ContextKey).(core.Decision)
	return d, ok
}

func (e echoCall) Reply(status int, contentType, body string) error {
	return e.c.Blob(status, contentType, []byte(body))
}

func (e echoCall) Fail(status int) error { return echo.NewHTTPError(status) }

func (e echoCall) Hijack(f func(net.Conn)) error {
	conn, _, err := e.c.Response().Hijack()
	if err == nil {
		f(conn)
	}
	return err
}
