package grpclimit

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/tierlimit/tierlimit/core"
)

// notice is what an RPC tells its client: the metadata of the last decision on it. gRPC adds to
// metadata and never replaces it, so the interceptors on one RPC share a notice and the outermost
// sends it: two pushbacks would make the client give up, and two ratelimit lines are one list.
type notice struct {
	last      atomic.Pointer[verdict]
	announced atomic.Bool // it is in the header already

	perMessage bool          // an interceptor further out charges messages
	message    core.Decision // the one made last on the present message
}

type verdict struct {
	core.Decision
	onMessage bool // and not on the RPC
}

type noticeKey struct{}

// share returns the notice of the RPC, and whether it is new: the caller is then the outermost.
func share(ctx context.Context) (_ context.Context, n *notice, outermost bool) {
	if n, ok := ctx.Value(noticeKey{}).(*notice); ok {
		return ctx, n, false
	}
	n = new(notice)
	return context.WithValue(ctx, noticeKey{}, n), n, true
}

func (n *notice) set(d core.Decision, onMessage bool) { n.last.Store(&verdict{d, onMessage}) }

// carrier is where metadata is put; a grpc.ServerStream is one.
type carrier interface {
	SetHeader(metadata.MD) error
	SetTrailer(metadata.MD)
}

// unary is the carrier of a unary RPC. In a context without a transport, as in tests that call
// handlers directly, there is nobody to tell.
type unary struct{ ctx context.Context }

func (u unary) SetHeader(md metadata.MD) error { return grpc.SetHeader(u.ctx, md) }
func (u unary) SetTrailer(md metadata.MD)      { _ = grpc.SetTrailer(u.ctx, md) }

// announce puts the limits of an admitted RPC into the header, if that is not sent yet.
func (n *notice) announce(ctx context.Context, to carrier) {
	v := n.last.Load()
	if v.Allowed && n.announced.CompareAndSwap(false, true) && to.SetHeader(v.metadata(ctx)) != nil {
		n.announced.Store(false)
	}
}

// close tells at the end of the RPC what the client does not know yet.
func (n *notice) close(ctx context.Context, to carrier, code codes.Code) {
	if _, ok := to.(unary); ok && code == codes.OK {
		n.announce(ctx, to)
	}
	if v := n.last.Load(); !v.Allowed || !n.announced.Load() {
		to.SetTrailer(v.metadata(ctx))
	}
}

func (v *verdict) metadata(ctx context.Context) metadata.MD {
	md := metadata.MD{}
	for name, value := range v.Headers() {
		md.Set(name, value)
	}
	if ms := v.pushback(ctx); ms != "" {
		md.Set(pushbackKey, ms)
	}
	return md
}

const (
	pushbackKey = "grpc-retry-pushback-ms"
	noRetry     = "-1"

	// maxPushback bounds for how long a client is told to wait: its call is blocked meanwhile.
	maxPushback = 5 * time.Second
)

// pushback is the value of grpc-retry-pushback-ms (gRFC A6), "" for none. The package comment says
// when it is what.
func (v *verdict) pushback(ctx context.Context) string {
	deadline, bounded := ctx.Deadline()
	switch {
	case v.Allowed:
		return ""
	case v.onMessage:
		return noRetry
	case v.Reason == core.StoreFailed:
		return "" // nobody knows for how long
	case v.RetryAfter <= 0, bounded && time.Until(deadline) < v.RetryAfter:
		return noRetry
	case v.RetryAfter > maxPushback:
		return ""
	}
	return strconv.FormatInt(int64((v.RetryAfter+time.Millisecond-1)/time.Millisecond), 10)
}
