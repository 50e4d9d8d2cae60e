// Package grpclimit limits RPCs: those that a gRPC server serves, to protect it, and those that a
// client makes, to keep it within the limits it was told.
//
//	grpc.NewServer(
//		grpc.ChainUnaryInterceptor(authenticate, grpclimit.UnaryServerInterceptor(limiter, grpclimit.WithUser(user))),
//		grpc.ChainStreamInterceptor(authenticateStream, grpclimit.StreamServerInterceptor(limiter, grpclimit.WithUser(user))),
//	)
//
// The endpoint of an RPC is its full method, "/shop.v1.Items/Get", in core.WithRoute too. Methods
// that the server does not have are answered by gRPC itself and never reach an interceptor, so they
// are not charged. Health checks and reflection are exempt (WithExempt).
//
// Status says what a refused client is told. The metadata ratelimit, ratelimit-policy and
// retry-after are the HTTP headers of these names. A unary RPC that succeeds has them in its header;
// a stream, and whatever fails, in its trailer: a header would end the retries of a client whose
// policy has the code. Refusals tell such a policy how long to wait, by grpc-retry-pushback-ms, if
// that is at most 5 s: the call is blocked meanwhile. Above that they leave it to the policy's own
// back-off. They forbid the retry, by -1, where waiting does not help, or not before the call's
// deadline, or where a stream would be charged again for messages that it had paid for.
package grpclimit

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/tierlimit/tierlimit/core"
)

// UnaryServerInterceptor limits unary RPCs. Chain it inside recovery and behind authentication,
// whose findings WithUser reads from the context. Handlers find their decision with
// core.FromContext. A refused RPC gets Status. It panics on a nil limiter or a wrong option;
// limiter.With is the checked form of WithPolicy.
func UnaryServerInterceptor(limiter *core.Limiter, opts ...Option) grpc.UnaryServerInterceptor {
	l := configure(limiter, false, opts)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		r, ok := l.request(ctx, info.FullMethod)
		if !ok {
			return handler(ctx, req)
		}
		err = l.serve(ctx, r, unary{ctx}, func(ctx context.Context, n *notice) (err error) {
			resp, err = handler(ctx, req)
			return err
		})
		return resp, err
	}
}

// StreamServerInterceptor limits streams: their opening, and each message with WithPerMessage. For
// the rest it is like UnaryServerInterceptor.
func StreamServerInterceptor(limiter *core.Limiter, opts ...Option) grpc.StreamServerInterceptor {
	l := configure(limiter, false, opts)
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		r, ok := l.request(ss.Context(), info.FullMethod)
		if !ok {
			return handler(srv, ss)
		}
		return l.serve(ss.Context(), r, ss, func(ctx context.Context, n *notice) error {
			return l.stream(ctx, r, ss, n, func(s grpc.ServerStream) error { return handler(srv, s) })
		})
	}
}

// request is what to ask the limiter; ok is false where the RPC is not limited.
func (l *limit) request(ctx context.Context, method string) (r core.Request, ok bool) {
	if l.isExempt(method) {
		return r, false
	}
	return l.Request(ctx, peerAddr(ctx), incoming{ctx}, method)
}

// serve runs an RPC's handler, or refuses it.
func (l *limit) serve(ctx context.Context, r core.Request, to carrier, handler func(context.Context, *notice) error) (err error) {
	ctx, n, outermost := share(ctx)
	ctx, d := l.limiter.Admit(ctx, r, l.MaxDelay)
	n.set(d, false)
	code := codes.Internal // of a panic
	defer func() {
		if d.Allowed && l.refundOn != nil && l.refundOn(code) {
			_ = d.Refund(ctx) // what cannot be given back stays spent
		}
		if outermost {
			n.close(ctx, to, code)
		}
	}()
	if d.Allowed {
		err = handler(ctx, n)
	} else {
		err = l.refuse(ctx, d)
	}
	code = codeOf(err)
	return err
}

func (l *limit) refuse(ctx context.Context, d core.Decision) error {
	if l.deny != nil {
		if err := l.deny(ctx, d); err != nil {
			return err
		}
	}
	return Status(d).Err()
}
