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

// notice is what an RPC tells its client: the metadata of its last decision. gRPC only adds to
// metadata, never replaces it, so interceptors on one RPC share a notice and the outermost sends
// it: a second pushback would make clients give up, a second ratelimit would be read as a list.
type notice struct {
	last      atomic.Pointer[core.Decision]
	announced atomic.Bool // in the header already
	onMessage atomic.Bool // the last decision is about a message of a stream

	charging bool            // some interceptor charges messages
	message  context.Context //nolint:containedctx // carries what was decided on the present message from one interceptor's RecvMsg to the next
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

// announce puts the limits of an admitted RPC into the header, which is sent with what follows at
// once: never earlier, since a header without a message ends a client's retries.
func (n *notice) announce(ctx context.Context, to carrier) {
	if d := n.last.Load(); d.Allowed && n.announced.CompareAndSwap(false, true) && to.SetHeader(n.metadata(ctx, d)) != nil {
		n.announced.Store(false) // the handler has sent the header
	}
}

// close puts what is not in the header into the trailer.
func (n *notice) close(ctx context.Context, to carrier) {
	if d := n.last.Load(); !d.Allowed || !n.announced.Load() {
		to.SetTrailer(n.metadata(ctx, d))
	}
}

func (n *notice) metadata(ctx context.Context, d *core.Decision) metadata.MD {
	md := metadata.MD{}
	for name, value := range d.Headers() {
		md.Set(name, value)
	}
	if ms := pushback(ctx, d, n.onMessage.Load()); ms != "" {
		md.Set(pushbackKey, ms)
	}
	return md
}

// maxPushback bounds for how long a client's retry policy is told to wait: the call is blocked in
// the client meanwhile.
const maxPushback = 5 * time.Second

const pushbackKey = "grpc-retry-pushback-ms"

// pushback is the word to the retry policy of a client (gRFC A6), if it has one that includes the
// code: how many milliseconds to wait, or -1 not to retry because that cannot help: waiting does
// not, or not before the deadline, or the retry would be charged for every message of its stream
// again. Above maxPushback nothing is said: the client's own back-off may well outlast the wait.
func pushback(ctx context.Context, d *core.Decision, onMessage bool) string {
	if d.Allowed || codes.Unavailable == Status(*d).Code() {
		return ""
	}
	deadline, ok := ctx.Deadline()
	switch {
	case onMessage, d.RetryAfter <= 0, ok && time.Until(deadline) < d.RetryAfter:
		return "-1"
	case d.RetryAfter > maxPushback:
		return ""
	}
	return strconv.FormatInt(int64((d.RetryAfter+time.Millisecond-1)/time.Millisecond), 10)
}
