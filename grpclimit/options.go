package grpclimit

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// Option configures an interceptor. A wrong one makes the constructor panic, naming it. The
// functions are given the context of the RPC, of which grpc.Method tells the method, on a client
// too.
type Option func(*options)

// ofServers is an option that means nothing on a client.
func ofServers(name string, set Option) Option {
	return func(o *options) { o.Require(!o.client, "%s: for servers only", name); set(o) }
}

// WithUser tells who is calling; "" is anonymous. Give it verified identities only: one that a
// client can choose is a new bucket with each request. On a client the default is the target of
// the connection, so that a PerUser level is a limit for each server that is called.
func WithUser(f func(context.Context) string) Option {
	return func(o *options) { o.User = f; o.Require(f != nil, "WithUser: function is nil") }
}

// WithKey gives the key of a level, in place of the level's own; ok false: it does not apply.
func WithKey(level string, f func(context.Context) (key string, ok bool)) Option {
	return func(o *options) {
		o.Keys = append(o.Keys, adapter.Key[context.Context]{Level: level, Of: f})
		o.Require(f != nil, "WithKey: function for level %q is nil", level)
	}
}

// WithProxies says whose forwarding metadata to believe, such as a grpc-gateway's
// x-forwarded-for; the default is nobody's. For servers.
func WithProxies(p core.Proxies) Option {
	return ofServers("WithProxies", func(o *options) { o.Proxies = p })
}

// WithCost tells what an RPC costs, in units; 0: it is let through and not charged. The default
// is 1. With WithPerMessage each message of a stream costs the same again.
func WithCost(f func(context.Context) int64) Option {
	return func(o *options) { o.Cost = f; o.Require(f != nil, "WithCost: function is nil") }
}

// WithSkip lets RPCs through unlimited where f is true.
func WithSkip(f func(context.Context) bool) Option {
	return func(o *options) { o.Skip = f; o.Require(f != nil, "WithSkip: function is nil") }
}

// WithExempt names the services that are not limited, such as "grpc.health.v1.Health", in place
// of the default: health and reflection. None: every service is limited. A single method is
// exempted by core.WithRoute and core.Exempt.
func WithExempt(services ...string) Option {
	return func(o *options) {
		o.exempt = slices.Clone(services)
		for _, s := range services {
			o.Require(s != "" && !strings.Contains(s, "/"), "WithExempt: service is %q, want a full name without slashes", s)
		}
	}
}

// WithMaxDelay bounds how long an RPC may be held back before it is refused instead. On a server
// that is by a leaky bucket, and the default is 1 s. On a client it is by the limiter and by what
// the server has asked for, and without it only the call's own context ends the wait.
func WithMaxDelay(d time.Duration) Option {
	return func(o *options) { o.MaxDelay = d; o.Require(d >= 0, "WithMaxDelay: %v is below 0", d) }
}

// WithPolicy adds levels to those of a limiter in an interceptor before. Each interceptor that is
// given it counts on its own: make one limiter with limiter.With for unary RPCs and streams that
// share their limits.
func WithPolicy(p core.Policy) Option {
	return func(o *options) { o.Policy = p; o.Require(p != nil, "WithPolicy: policy is nil") }
}

// WithDeny answers refused RPCs in place of Status. The trailers are set whatever it returns, and
// the handler is not run; nil stands for Status. For servers.
func WithDeny(f func(context.Context, core.Decision) error) Option {
	return ofServers("WithDeny", func(o *options) { o.deny = f; o.Require(f != nil, "WithDeny: function is nil") })
}

// WithRefundOn gives the charge back where f is true of the code that the RPC ends with: to count
// only failures, or only successes. That of a panic is Internal. A stream is judged at its end,
// and what its messages cost stays charged. For servers.
func WithRefundOn(f func(codes.Code) bool) Option {
	return ofServers("WithRefundOn", func(o *options) { o.refundOn = f; o.Require(f != nil, "WithRefundOn: function is nil") })
}

// WithPerMessage charges each message that a stream receives, on top of its opening; a stream
// that only the server sends on receives one. A message that is refused ends its stream and no
// other: RecvMsg fails, the stream's context ends, and whatever the handler returns, the client
// sees the refusal. For servers; unary RPCs are not concerned.
func WithPerMessage() Option {
	return ofServers("WithPerMessage", func(o *options) { o.perMessage = true })
}

// WithStreamHeader sends the limits of an admitted stream in its header, with the first message,
// instead of in its trailer, at its end. For servers; unary RPCs have them in the header anyway.
func WithStreamHeader() Option {
	return ofServers("WithStreamHeader", func(o *options) { o.streamHeader = true })
}
