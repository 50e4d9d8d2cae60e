package echolimit

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// Option configures the middleware. A wrong one makes New panic, naming it.
type Option func(*options)

type options struct {
	adapter.Config[echo.Context]
	deny     func(echo.Context, core.Decision) error
	refundOn func(status int) bool
}

// WithUser tells who is calling; "" is anonymous. Give it verified identities only: one that a
// client can choose is a new bucket with each request.
func WithUser(f func(echo.Context) string) Option {
	return func(o *options) { o.User = f; o.Require(f != nil, "WithUser: function is nil") }
}

// WithKey gives the key of a level, in place of the level's own; ok false: it does not apply.
func WithKey(level string, f func(echo.Context) (key string, ok bool)) Option {
	return func(o *options) {
		o.Keys = append(o.Keys, adapter.Key[echo.Context]{Level: level, Of: f})
		o.Require(f != nil, "WithKey: function for level %q is nil", level)
	}
}

// WithProxies says whose forwarding header to believe; the default is nobody's. Echo's own
// IPExtractor is not asked.
func WithProxies(p core.Proxies) Option { return func(o *options) { o.Proxies = p } }

// WithCost tells what a request costs, in units; 0: it is let through and not charged. The
// default is 1.
func WithCost(f func(echo.Context) int64) Option {
	return func(o *options) { o.Cost = f; o.Require(f != nil, "WithCost: function is nil") }
}

// WithSkip lets requests through unlimited where f, such as an echo middleware.Skipper, is true.
func WithSkip(f func(echo.Context) bool) Option {
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

// WithDeny answers refused requests in place of the problem document. The headers are set
// already, the status, d.Status(), is the function's to write, and the handler is not run. An
// error it returns goes to echo's HTTPErrorHandler.
func WithDeny(f func(echo.Context, core.Decision) error) Option {
	return func(o *options) { o.deny = f; o.Require(f != nil, "WithDeny: function is nil") }
}

// WithDenyAsError leaves the answer to echo's HTTPErrorHandler: the refusal is returned as an
// *echo.HTTPError around a *core.DeniedError. The headers are kept.
func WithDenyAsError() Option {
	return WithDeny(func(_ echo.Context, d core.Decision) error {
		denied := &core.DeniedError{Decision: d}
		return echo.NewHTTPError(d.Status(), denied.Error()).SetInternal(denied)
	})
}

// WithRefundOn gives the charge back where f is true of the response's status: to count only
// failures, or only successes. Where nothing is written yet the status is what the handler's
// error stands for; that of a panic is 500.
func WithRefundOn(f func(status int) bool) Option {
	return func(o *options) { o.refundOn = f; o.Require(f != nil, "WithRefundOn: function is nil") }
}
