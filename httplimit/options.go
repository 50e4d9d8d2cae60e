package httplimit

import (
	"net/http"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// Option configures the middleware. A wrong one makes New panic, naming it.
type Option func(*options)

type options struct {
	adapter.Config[*http.Request]
	deny     func(http.ResponseWriter, *http.Request, core.Decision)
	refundOn func(status int) bool
	endpoint func(*http.Request) string
}

// WithUser tells who is calling; "" is anonymous. Give it verified identities only: one that a
// client can choose is a new bucket with each request.
func WithUser(f func(*http.Request) string) Option {
	return func(o *options) { o.User = f; o.Require(f != nil, "WithUser: function is nil") }
}

// WithKey gives the key of a level, in place of the level's own; ok false: it does not apply.
func WithKey(level string, f func(*http.Request) (key string, ok bool)) Option {
	return func(o *options) {
		o.Keys = append(o.Keys, adapter.Key[*http.Request]{Level: level, Of: f})
		o.Require(f != nil, "WithKey: function for level %q is nil", level)
	}
}

// WithProxies says whose forwarding header to believe; the default is nobody's.
func WithProxies(p core.Proxies) Option { return func(o *options) { o.Proxies = p } }

// WithCost tells what a request costs, in units; 0: it is let through and not charged. The
// default is 1.
func WithCost(f func(*http.Request) int64) Option {
	return func(o *options) { o.Cost = f; o.Require(f != nil, "WithCost: function is nil") }
}

// WithSkip lets requests through unlimited where f is true.
func WithSkip(f func(*http.Request) bool) Option {
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
// already, the status, d.Status(), is the function's to write, and the handler is not run.
func WithDeny(f func(http.ResponseWriter, *http.Request, core.Decision)) Option {
	return func(o *options) { o.deny = f; o.Require(f != nil, "WithDeny: function is nil") }
}

// WithRefundOn gives the charge back where f is true of the response's status: to count only
// failures, or only successes. The status of a panic is 500. To see it, and only then, the
// response writer is wrapped; the wrapper flushes, hijacks and unwraps as the original does.
func WithRefundOn(f func(status int) bool) Option {
	return func(o *options) { o.refundOn = f; o.Require(f != nil, "WithRefundOn: function is nil") }
}

// WithMux tells the route of a request before the mux has run, so that the middleware can stand
// around the whole mux. Without it, and without WithEndpoint, only a middleware mounted on a
// route inside the mux knows its endpoint.
func WithMux(mux *http.ServeMux) Option {
	return func(o *options) {
		o.endpoint = func(r *http.Request) string { return fromMux(mux, r) }
		o.Require(mux != nil, "WithMux: mux is nil")
	}
}

// WithEndpoint tells the route of a request for other routers: its template with its method,
// "POST /login", or "" if there is none. Never return the path itself: a client can make any
// number of them, and each would be a bucket of its own.
func WithEndpoint(f func(*http.Request) string) Option {
	return func(o *options) { o.endpoint = f; o.Require(f != nil, "WithEndpoint: function is nil") }
}
