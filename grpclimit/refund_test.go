package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

func codeOf(err error) codes.Code { return status.Code(err) }

// judged notes the codes that WithRefundOn is asked about, and gives all charges back.
type judged struct {
	mu    sync.Mutex
	codes []codes.Code
}

func (j *judged) option() grpclimit.Option {
	return grpclimit.WithRefundOn(func(c codes.Code) bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.codes = append(j.codes, c)
		return true
	})
}

func (j *judged) are(t *testing.T, what string, want ...codes.Code) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.codes, want) {
		t.Errorf("%s: judged %v, want %v", what, j.codes, want)
	}
	j.codes = nil
}

func TestRefundOnWhatTheRPCEndsWith(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		want codes.Code // also what the client gets
	}{
		"success":          {nil, codes.OK},
		"a status":         {status.Error(codes.NotFound, "no"), codes.NotFound},
		"a wrapped status": {fmt.Errorf("in the handler: %w", status.Error(codes.NotFound, "no")), codes.NotFound},
		"another error":    {errors.New("no"), codes.Unknown},
		"a context's":      {context.Canceled, codes.Canceled},
		"a deadline":       {fmt.Errorf("in the handler: %w", context.DeadlineExceeded), codes.DeadlineExceeded},
		"our own code":     {status.Error(codes.ResourceExhausted, "the handler's"), codes.ResourceExhausted},
	} {
		var j judged
		l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(10))})
		s := service{
			unary:  func(context.Context, string) (string, error) { return "ok", row.err },
			stream: func(grpc.ServerStream) error { return row.err },
		}
		conn := dial(t, s.start(t, behind(l, j.option())...))
		equal(t, name+": code", do(t, conn, say).err.Code(), row.want)
		equal(t, name+": code", end(t, open(t, conn, chat)).err.Code(), row.want)
		j.are(t, name, row.want, row.want)
		equal(t, name+": units left", left(l, say), 10)
	}
}

func TestRefundOnlyWhereAsked(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(3))})
	s := service{unary: func(_ context.Context, text string) (string, error) { return "", status.Error(codes.NotFound, "no") }}
	onlySuccess := grpclimit.WithRefundOn(func(c codes.Code) bool { return c == codes.OK })
	conn := dial(t, s.start(t, behind(l, onlySuccess)...))
	for range 10 {
		end(t, open(t, conn, chat)).is(t, codes.OK)
	}
	for range 3 {
		do(t, conn, say).is(t, codes.NotFound)
	}
	do(t, conn, say).is(t, codes.ResourceExhausted)
	end(t, open(t, conn, chat)).is(t, codes.ResourceExhausted)
}

func TestDenialIsNotJudged(t *testing.T) {
	var j judged
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(1))})
	hold := make(chan struct{})
	s := service{unary: func(ctx context.Context, _ string) (string, error) { <-hold; return "ok", nil }}
	conn := dial(t, s.start(t, behind(l, j.option())...))
	var wg sync.WaitGroup
	wg.Go(func() { do(t, conn, say) })
	eventually(t, "the call", func() bool { return s.calls.Load() == 1 })
	do(t, conn, say).is(t, codes.ResourceExhausted)
	j.are(t, "a denial")
	close(hold)
	wg.Wait()
	j.are(t, "the one that was admitted", codes.OK)
}

func TestRefundIsMadeOnce(t *testing.T) {
	var j judged
	store := delaying(0)
	l := limiter(t, store, core.Policy{core.PerIP(core.PerHour(10))})
	s := service{unary: func(ctx context.Context, _ string) (string, error) {
		d, ok := core.FromContext(ctx)
		if !ok {
			return "", errors.New("no decision")
		}
		return "ok", d.Refund(ctx)
	}}
	conn := dial(t, s.start(t, append(behind(l, j.option()), behind(l, j.option())...)...))
	do(t, conn, say).is(t, codes.OK)
	j.are(t, "both", codes.OK, codes.OK)
	equal(t, "refunds", store.refunds.Load(), 1)
}

func TestRefundOfAStreamIsOfItsOpening(t *testing.T) {
	var j judged
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(3))})
	var s service
	conn := dial(t, s.start(t, behind(l, j.option(), grpclimit.WithPerMessage())...))
	cs := open(t, conn, chat)
	exchange(t, cs)
	exchange(t, cs)
	j.are(t, "a stream that goes on")
	send(t, cs, "too much")
	end(t, cs).is(t, codes.ResourceExhausted)
	eventually(t, "the refund", func() bool { return left(l, chat) == 1 })
	j.are(t, "the stream", codes.ResourceExhausted)
}

func TestPanicPassesAndIsInternal(t *testing.T) {
	var j judged
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(10))})
	caught := make(chan any, 2)
	recovery := func(err *error) {
		if v := recover(); v != nil {
			caught <- v
			*err = status.Error(codes.DataLoss, "recovered")
		}
	}
	opts := []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
			defer recovery(&err)
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
			defer recovery(&err)
			return next(srv, ss)
		}),
	}
	s := service{
		unary:  func(context.Context, string) (string, error) { panic("scripted") },
		stream: func(grpc.ServerStream) error { panic("scripted") },
	}
	conn := dial(t, s.start(t, append(opts, behind(l, j.option(), grpclimit.WithPerMessage())...)...))
	for kind, call := range map[string]func() answer{
		"unary":  func() answer { return do(t, conn, say) },
		"stream": func() answer { return end(t, open(t, conn, chat)) },
	} {
		a := call()
		a.is(t, codes.DataLoss)
		equal(t, kind+": value recovered", <-caught, any("scripted"))
		j.are(t, kind, codes.Internal)
		equal(t, kind+": units left", left(l, say), 10)
		hasOnly(t, kind+": header", a.header, nil)
		hasOnly(t, kind+": trailer", a.trailer, hundredth(9))
	}
}

func hundredth(left int) map[string]string {
	return map[string]string{"ratelimit": fmt.Sprintf(`"ip";r=%d;t=360`, left), "ratelimit-policy": `"ip";q=10;w=3600`}
}
