// Package ginlimit limits requests to a gin service.
package ginlimit

import (
	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// ContextKey is where handlers find the core.Decision with c.Get; core.FromContext finds it too,
// in c.Request.Context(), not in c.
const ContextKey = "tierlimit.decision"

// New makes the middleware. Mount it on the engine, behind CORS, so that refusals carry its
// headers; its endpoint is the route's template even there. It panics on a nil limiter or a
// wrong option; limiter.With is the checked form of WithPolicy.
func New(limiter *core.Limiter, opts ...Option) gin.HandlerFunc {
	o := &options{Config: adapter.Defaults[*gin.Context](), deny: problem}
	for _, opt := range opts {
		if o.Require(opt != nil, "option is nil"); opt != nil {
			opt(o)
		}
	}
	limiter, err := o.Limiter(limiter)
	if err != nil {
		panic("ginlimit: " + err.Error())
	}
	endpoints := new(adapter.Endpoints)
	return func(c *gin.Context) { o.limit(limiter, endpoints, c) }
}

func (o *options) limit(limiter *core.Limiter, endpoints *adapter.Endpoints, c *gin.Context) {
	if adapter.Preflight(c.Request.Method, c.Request.Header) {
		return
	}
	r, ok := o.Request(c, c.Request.RemoteAddr, c.Request.Header, endpoint(endpoints, c))
	if !ok {
		return
	}
	ctx, d := limiter.Admit(c.Request.Context(), r, o.MaxDelay)
	adapter.SetHeaders(c.Writer.Header(), d)
	c.Set(ContextKey, d)
	if !d.Allowed {
		c.Abort()
		c.Status(d.Status())
		o.deny(c, d)
		return
	}
	c.Request = c.Request.WithContext(ctx)
	if o.refundOn != nil {
		written := func() (int, bool) { return c.Writer.Status(), c.Writer.Written() }
		adapter.Serve(ctx, d, o.refundOn, written, func() int {
			c.Next()
			return c.Writer.Status()
		})
	}
}

func endpoint(known *adapter.Endpoints, c *gin.Context) string {
	if c.FullPath() == "" {
		return ""
	}
	if endpoint := known.Of(c.Request.Method, c.FullPath()); endpoint != "" {
		return endpoint
	}
	return known.Add(c.Request.Method, c.FullPath())
}

func problem(c *gin.Context, d core.Decision) {
	c.Data(d.Status(), core.ProblemType, d.Problem())
}
