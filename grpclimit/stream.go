package grpclimit

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/tierlimit/tierlimit/core"
)

// stream is what a handler gets. What it adds to the stream below happens in the handler's own
// calls, so it needs no goroutine.
type stream struct {
	grpc.ServerStream
	ctx     context.Context
	limit   *limit
	notice  *notice
	request core.Request
	first   bool // of the interceptors that charge messages
	end     context.CancelCauseFunc
	refusal atomic.Pointer[error] // of a message
}

// stream runs an admitted stream's handler.
func (l *limit) stream(ctx context.Context, r core.Request, ss grpc.ServerStream, n *notice, handler func(grpc.ServerStream) error) error {
	s := &stream{ServerStream: ss, ctx: ctx, limit: l, notice: n, request: r}
	if l.perMessage {
		s.first, n.perMessage = !n.perMessage, true
		s.ctx, s.end = context.WithCancelCause(ctx)
		defer s.end(nil)
	}
	err := handler(s)
	if refusal := s.refusal.Load(); refusal != nil {
		return *refusal
	}
	return err
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) RecvMsg(m any) error {
	if refusal := s.refusal.Load(); refusal != nil {
		return *refusal
	}
	if err := s.ServerStream.RecvMsg(m); err != nil || !s.limit.perMessage {
		return err
	}
	return s.charge()
}

// charge charges the message just received, or ends the stream.
func (s *stream) charge() error {
	var before core.Decision // none: Admit would else find that this limiter has decided, on the opening
	if !s.first {
		before = s.notice.message
	}
	ctx, d := s.limit.limiter.Admit(core.NewContext(s.ctx, before), s.request, s.limit.MaxDelay)
	s.notice.message = d
	s.notice.set(d, true)
	if d.Allowed {
		return nil
	}
	err := s.limit.refuse(ctx, d)
	s.refusal.Store(&err)
	s.end(err) // for a handler that waits for something else, and would let the client believe that it is heard
	return err
}

func (s *stream) SendMsg(m any) error {
	if refusal := s.refusal.Load(); refusal != nil {
		return *refusal
	}
	s.announce()
	return s.ServerStream.SendMsg(m)
}

func (s *stream) SendHeader(md metadata.MD) error {
	s.announce()
	return s.ServerStream.SendHeader(md)
}

// announce comes before the header is sent for another reason: on its own it would end a client's
// retries.
func (s *stream) announce() {
	if s.limit.streamHeader {
		s.notice.announce(s.ctx, s.ServerStream)
	}
}
