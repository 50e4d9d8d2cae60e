package grpclimit

import (
	"context"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/tierlimit/tierlimit/core"
)

// UnaryClientInterceptor holds unary RPCs back until limiter admits them, so that a client stays
// within limits that it was told. To the limiter's levels the endpoint is the full method, the user
// is the target of the connection (WithUser), the header is the outgoing metadata, and there is no
// address. What was sent stays charged.
//
// It also keeps to what a server says. When an RPC ends with RESOURCE_EXHAUSTED and RetryInfo, or
// with a pushback in milliseconds, later calls of that method on connections to that target wait
// for as long. The call that failed is not repeated.
//
// A call whose turn comes after its deadline fails at once, with DEADLINE_EXCEEDED. One without a
// deadline waits as long as it takes: bound it by WithMaxDelay, above which it fails with
// RESOURCE_EXHAUSTED. One that no wait would help fails as Status says. None of them is sent, and
// their messages begin with "not sent".
//
// A retry policy of the connection works below the interceptor: its attempts are one call. The
// constructor panics on a nil limiter or a wrong option.
func UnaryClientInterceptor(limiter *core.Limiter, opts ...Option) grpc.UnaryClientInterceptor {
	p := newPacer(limiter, opts)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		c := call{target(cc), method}
		if err := p.admit(ctx, c); err != nil {
			return err
		}
		var trailer metadata.MD
		err := invoker(ctx, method, req, reply, cc, append(slices.Clip(opts), grpc.Trailer(&trailer))...)
		p.learn(c, err, func() metadata.MD { return trailer })
		return err
	}
}

// StreamClientInterceptor is UnaryClientInterceptor for streams: their opening is held back, and
// how they end is heeded.
func StreamClientInterceptor(limiter *core.Limiter, opts ...Option) grpc.StreamClientInterceptor {
	p := newPacer(limiter, opts)
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		c := call{target(cc), method}
		if err := p.admit(ctx, c); err != nil {
			return nil, err
		}
		cs, err := streamer(ctx, desc, cc, method, opts...)
		if err != nil {
			return cs, err
		}
		return &clientStream{cs, p, c}, nil
	}
}

// clientStream hears how the stream ends.
type clientStream struct {
	grpc.ClientStream
	pacer *pacer
	call  call
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil && err != io.EOF { //nolint:errorlint // ClientStream returns io.EOF itself
		s.pacer.learn(s.call, err, s.Trailer)
	}
	return err
}

// call is what a server's wait is about.
type call struct{ target, method string }

// target is "" for no connection, as in tests that call an interceptor directly.
func target(cc *grpc.ClientConn) string {
	if cc == nil {
		return ""
	}
	return cc.Target()
}
