// Package fiberlimit limits requests to a fiber v2 service.
package fiberlimit

import (
	"errors"
	"net"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// LocalsKey is where handlers find the core.Decision with c.Locals; core.FromContext on the
// user context finds it too.
const LocalsKey = "tierlimit.decision"

// New makes the middleware. Mount it with Use, behind CORS, so that refusals carry its headers;
// its endpoint is the route's template even there. It panics on a nil limiter or a wrong option;
// limiter.With is the checked form of WithPolicy.
//
// Fiber's user context does not end when the client leaves, so a request that a leaky bucket
// holds back is waited for to the end.
func New(limiter *core.Limiter, opts ...Option) fiber.Handler {
	o := &options{Config: adapter.Defaults[*fiber.Ctx](), deny: problem}
	for _, opt := range opts {
		if o.Require(opt != nil, "option is nil"); opt != nil {
			opt(o)
		}
	}
	limiter, err := o.Limiter(limiter)
	if err != nil {
		panic("fiberlimit: " + err.Error())
	}
	routes := new(routes)
	return func(c *fiber.Ctx) error { return o.limit(limiter, routes, c) }
}

func (o *options) limit(limiter *core.Limiter, routes *routes, c *fiber.Ctx) (err error) {
	h := header{c}
	if adapter.Preflight(c.Method(), h) {
		return c.Next()
	}
	r, ok := o.Request(c, peer(c), h, routes.endpoint(c))
	if !ok {
		return c.Next()
	}
	ctx, d := limiter.Admit(c.UserContext(), r, o.MaxDelay)
	for name, value := range d.Headers() {
		c.Set(name, value)
	}
	c.Locals(LocalsKey, d)
	if !d.Allowed {
		c.Status(d.Status())
		return o.deny(c, d)
	}
	c.SetUserContext(ctx)
	if o.refundOn == nil {
		return c.Next()
	}
	written := func() (int, bool) { return 0, false } // fiber writes only after the last handler
	adapter.Serve(ctx, d, o.refundOn, written, func() int {
		err = c.Next()
		return status(c, err)
	})
	return err
}

// peer leaves out the port, which nobody asks for and costs more than the address.
func peer(c *fiber.Ctx) string {
	addr := c.Context().RemoteAddr()
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return addr.String()
}

// status is what the error stands for, which fiber writes only later, or else what is written.
func status(c *fiber.Ctx, err error) int {
	if err == nil {
		return c.Response().StatusCode()
	}
	if fe, ok := errors.AsType[*fiber.Error](err); ok {
		return fe.Code
	}
	return http.StatusInternalServerError
}

func problem(c *fiber.Ctx, d core.Decision) error {
	c.Set(fiber.HeaderContentType, core.ProblemType)
	return c.Send(d.Problem())
}

// header copies what it reads: fiber's strings change under whoever keeps them.
type header struct{ c *fiber.Ctx }

func (h header) Get(name string) string { return string(h.c.Request().Header.Peek(name)) }

func (h header) Values(name string) (lines []string) {
	for _, line := range h.c.Request().Header.PeekAll(name) {
		lines = append(lines, string(line))
	}
	return lines
}
