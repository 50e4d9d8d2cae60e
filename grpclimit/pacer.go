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

// admit returns when the call may be sent, or why it may not.
func (p *pacer) admit(ctx context.Context, c call) error {
	if p.isExempt(c.method) {
		return nil
	}
	r, ok := p.Request(grpc.NewContextWithServerTransportStream(ctx, calling(c.method)), "", outgoing{ctx}, c.method)
	if !ok {
		return nil
	}
	if p.User == nil {
		r.User = c.target
	}
	if ctx.Err() != nil {
		return notSent(status.FromContextError(ctx.Err())) // nothing is charged for it
	}
	until := time.Now().Add(p.MaxDelay)
	if s := p.heed(ctx, c, until); s != nil {
		return notSent(s)
	}
	// The limiter comes second, so that what it admits is sent then, and stays spaced out.
	d, s := p.take(ctx, r, until)
	if s != nil {
		return notSent(s)
	}
	if s := p.heed(ctx, c, until); s != nil { // the server may have spoken meanwhile
		_ = d.Refund(ctx) // what cannot be given back stays spent
		return notSent(s)
	}
	return nil
}

// heed waits for as long as the server has asked.
func (p *pacer) heed(ctx context.Context, c call, until time.Time) *status.Status {
	for {
		wait := p.waits.left(c)
		if wait <= 0 {
			return nil
		}
		if s := hold(ctx, core.Decision{Reason: core.Quota, RetryAfter: wait}, until); s != nil {
			return s
		}
	}
}

// take waits until the limiter admits. It is Limiter.Wait with another end: until bounds the
// waiting, where a context would also bound the store's answers.
func (p *pacer) take(ctx context.Context, r core.Request, until time.Time) (core.Decision, *status.Status) {
	for {
		d := p.limiter.Check(ctx, r)
		if d.Allowed {
			if d = d.Pace(ctx, time.Until(until)); d.Allowed {
				return d, nil
			}
			return d, Status(d)
		}
		if s := hold(ctx, d, until); s != nil {
			return d, s
		}
	}
}

// hold waits until a refusal is over. It gives up at once where that is too late, or no help.
func hold(ctx context.Context, d core.Decision, until time.Time) *status.Status {
	deadline, bounded := ctx.Deadline()
	switch {
	case d.Reason != core.Quota:
		return Status(d)
	case bounded && time.Until(deadline) < d.RetryAfter:
		return status.Newf(codes.DeadlineExceeded, "deadline is before the rate limit lets the call through, in %v", d.RetryAfter)
	case time.Until(until) < d.RetryAfter:
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

func notSent(s *status.Status) error {
	p := s.Proto()
	p.Message = "not sent: " + p.GetMessage()
	return status.ErrorProto(p)
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
