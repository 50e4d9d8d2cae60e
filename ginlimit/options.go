package ginlimit

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// Option configures the middleware. A wrong one makes New panic, naming it.
type Option func(*options)

type options struct {
	adapter.Config[*gin.Context]
	deny     func(*gin.Context, core.Decision)
	refundOn func(status int) bool
}

// WithUser tells who is calling; "" is anonymous. Give it verified identities only: one that a
// client can choose is a new bucket with each request.
func WithUser(f func(*gin.Context) string) Option {
	return func(o *options) { o.User = f; o.Require(f != nil, "WithUser: function is nil") }
}

// WithKey gives the key of a level, in place of the level's own; ok false: it does not apply.
func WithKey(level string, f func(*gin.Context) (key string, ok bool)) Option {
	return func(o *options) {
		o.Keys = append(o.Keys, adapter.Key[*gin.Context]{Level: level, Of: f})
		o.Require(f != nil, "WithKey: function for level %q is nil", level)
	}
}

// WithProxies says whose forwarding header to believe; the default is nobody's. Gin's own
// trusted proxies, which by default are everybody, are not asked.
func WithProxies(p core.Proxies) Option { return func(o *options) { o.Proxies = p } }

// WithCost tells what a request costs, in units; 0: it is let through and not charged. The
// default is 1.
func WithCost(f func(*gin.Context) int64) Option {
	return func(o *options) { o.Cost = f; o.Require(f != nil, "WithCost: function is nil") }
}

// WithSkip lets requests through unlimited where f is true.
func WithSkip(f func(*gin.Context) bool) Option {
	return func(o *options) { o.Skip = f; o.Require(f != nil, "WithSkip: function is nil") }
}

// WithMaxDelay bounds how long a leaky bucket may hold a request back before it is refused
// instead; the default is 1 s.
func WithMaxDelay(d time.Duration) Option {
	return func(o *options) { o.MaxDelay = d; o.Require(d >= 0, "WithMaxDelay: %v is below 0", d) }
}

// WithPolicy adds levels on this route or group, on top of a limiter mounted above.
func WithPolicy(p core.Policy) Option {
	return func(o *options) { o.Policy = p; o.Require(p != nil, "WithPolicy: policy is nil") }
}

// WithDeny answers refused requests in place of the problem document. The status and the headers
// are set already, and the handlers behind are not run.
func WithDeny(f func(*gin.Context, core.Decision)) Option {
	return func(o *options) { o.deny = f; o.Require(f != nil, "WithDeny: function is nil") }
}

// WithDenyAsError leaves the answer to the service's own error handling: the refusal is added to
// c.Errors as a *core.DeniedError, with the status and the headers set and no body.
func WithDenyAsError() Option {
	return WithDeny(func(c *gin.Context, d core.Decision) {
		_ = c.Error(&core.DeniedError{Decision: d}) // returned for chaining only
	})
}

// WithRefundOn gives the charge back where f is true of the response's status: to count only
// failures, or only successes. The status of a panic is 500.
func WithRefundOn(f func(status int) bool) Option {
	return func(o *options) { o.refundOn = f; o.Require(f != nil, "WithRefundOn: function is nil") }
}
