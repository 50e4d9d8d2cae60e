// Package echolimit limits requests to an echo v4 service.
package echolimit

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// ContextKey is where handlers find the core.Decision with c.Get; core.FromContext on the
// request's context finds it too.
const ContextKey = "tierlimit.decision"

// New makes the middleware. Mount it with Use, behind CORS, so that refusals carry its headers;
// its endpoint is the route's template even there. It panics on a nil limiter or a wrong option;
// limiter.With is the checked form of WithPolicy.
func New(limiter *core.Limiter, opts ...Option) echo.MiddlewareFunc {
	o := &options{Config: adapter.Defaults[echo.Context](), deny: problem}
	for _, opt := range opts {
		if o.Require(opt != nil, "option is nil"); opt != nil {
			opt(o)
		}
	}
	limiter, err := o.Limiter(limiter)
	if err != nil {
		panic("echolimit: " + err.Error())
	}
	routes := new(routes)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { return o.limit(limiter, routes, c, next) }
	}
}

func (o *options) limit(limiter *core.Limiter, routes *routes, c echo.Context, next echo.HandlerFunc) (err error) {
	req := c.Request()
	if adapter.Preflight(req.Method, req.Header) {
		return next(c)
	}
	r, ok := o.Request(c, req.RemoteAddr, req.Header, routes.endpoint(c))
	if !ok {
		return next(c)
	}
	ctx, d := limiter.Admit(req.Context(), r, o.MaxDelay)
	adapter.SetHeaders(c.Response().Header(), d)
	c.Set(ContextKey, d)
	if !d.Allowed {
		return o.deny(c, d)
	}
	c.SetRequest(req.WithContext(ctx))
	if o.refundOn == nil {
		return next(c)
	}
	written := func() (int, bool) { return c.Response().Status, c.Response().Committed }
	adapter.Serve(ctx, d, o.refundOn, written, func() int {
		err = next(c)
		return status(c, err)
	})
	return err
}

// status is what a handler's error stands for: echo writes it only later.
func status(c echo.Context, err error) int {
	if err == nil {
		return c.Response().Status
	}
	if he, ok := errors.AsType[*echo.HTTPError](err); ok {
		return he.Code
	}
	return http.StatusInternalServerError
}

func problem(c echo.Context, d core.Decision) error {
	return c.Blob(d.Status(), core.ProblemType, d.Problem())
}
