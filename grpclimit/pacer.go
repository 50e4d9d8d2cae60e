package grpclimit

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tierlimit/tierlimit/core"
)

// pacer holds a client's calls back.
type pacer struct {
	*limit
	waits waits
}

func newPacer(limiter *core.Limiter, opts []Option) *pacer {
	return &pacer{limit: configure(limiter, true, opts)}
}

// admit returns when the call may be sent; limited is false where it need not be asked for. Its
// error says why the call may not be sent.
func (p *pacer) admit(ctx context.Context, c call) (limited bool, err error) {
	if p.isExempt(c.method) {
		return false, nil
	}
	r, ok := p.Request(grpc.NewContextWithServerTransportStream(ctx, calling(c.method)), "", outgoing{ctx}, c.method)
	if !ok {
		return false, nil
	}
	if p.User == nil {
		r.User = c.target
	}
	begun := time.Now()
	var admitted core.Decision
	for {
		// The server's word first, so that what the limiter admits is sent then, and stays spaced out.
		d := core.Decision{Reason: core.Quota, RetryAfter: p.waits.left(c)}
		if d.RetryAfter <= 0 {
			if admitted.Allowed {
				return true, nil
			}
			if d = p.limiter.Check(ctx, r); d.Allowed {
				admitted, d.RetryAfter = d, d.Delay
			}
		}
		if s := p.hold(ctx, d, time.Since(begun)); s != nil {
			_ = admitted.Refund(ctx) // what cannot be given back stays spent
			s := s.Proto()
			s.Message = "not sent: " + s.GetMessage()
			return true, status.ErrorProto(s)
		}
	}
}

// hold waits for d.RetryAfter. It gives up at once where that cannot help.
func (p *pacer) hold(ctx context.Context, d core.Decision, held time.Duration) *status.Status {
	deadline, bounded := ctx.Deadline()
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err())
	case !d.Allowed && d.Reason != core.Quota:
		return Status(d)
	case bounded && time.Until(deadline) < d.RetryAfter:
		return status.Newf(codes.DeadlineExceeded, "deadline is before the rate limit lets the call through, in %v", d.RetryAfter)
	case d.Allowed && d.RetryAfter <= 0:
		return nil
	case d.RetryAfter > max(p.MaxDelay-held, 0):
		d.Allowed, d.Reason = false, core.Quota
		return Status(d)
	}
	timer := time.NewTimer(d.RetryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err())
	}
}

// learn takes the word of a server for how long it will refuse.
func (p *pacer) learn(c call, err error, trailer func() metadata.MD) {
	if s, ok := status.FromError(err); ok && s.Code() == codes.ResourceExhausted {
		p.waits.add(c, told(s, trailer()))
	}
}

// calling makes grpc.Method tell an option's function the method that is called. Without it, in a
// handler that makes calls, it would be the method that the handler serves.
type calling string

var errClient = errors.New("grpclimit: a call has no header of a server")

func (m calling) Method() string             { return string(m) }
func (calling) SetHeader(metadata.MD) error  { return errClient }
func (calling) SendHeader(metadata.MD) error { return errClient }
func (calling) SetTrailer(metadata.MD) error { return errClient }
