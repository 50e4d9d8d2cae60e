package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

func TestStreamsPayForTheirOpeningOnly(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(3))})
	var s service
	conn := dial(t, s.start(t, behind(l)...))
	for i, method := range []string{chat, watch, gather} {
		cs := open(t, conn, method)
		for range 5 {
			if method != watch { // on which a client sends one message only
				exchange(t, cs)
			}
		}
		send(t, cs, "last")
		end(t, cs).is(t, codes.OK)
		equal(t, "units left after "+method, left(l, chat), int64(2-i))
	}
	end(t, open(t, conn, chat)).is(t, codes.ResourceExhausted)
}

func TestPerMessage(t *testing.T) {
	b := newBench(t)
	l := b.limiter(t, core.Policy{core.PerIP(core.Per(4, 4*time.Second))})
	var s service
	conn := dial(t, s.start(t, behind(l, grpclimit.WithPerMessage())...))
	other := open(t, conn, chat)
	eventually(t, "the other stream", func() bool { return s.calls.Load() == 1 })
	cs := open(t, conn, chat)
	exchange(t, cs)
	exchange(t, cs) // that is two openings and two messages
	send(t, cs, "too much")
	a := end(t, cs)
	a.is(t, codes.ResourceExhausted)
	equal(t, "RetryInfo", retryDelay(t, a.err), time.Second)
	hasOnly(t, "trailer", a.trailer, map[string]string{
		"ratelimit": `"ip";r=0;t=1`, "ratelimit-policy": `"ip";q=4;w=4`, "retry-after": "1", "grpc-retry-pushback-ms": "-1",
	})
	b.clock.Advance(2 * time.Second)
	exchange(t, other) // it goes on
	equal(t, "units left", left(l, chat), 1)
	a = end(t, other)
	a.is(t, codes.OK)
	hasOnly(t, "trailer of the one that went on", a.trailer, map[string]string{"ratelimit": `"ip";r=1;t=1`, "ratelimit-policy": `"ip";q=4;w=4`})
}

func TestPerMessageChargesServerStreamsTheirOneMessage(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(10))})
	s := service{stream: func(ss grpc.ServerStream) error {
		m := new(wrapperspb.StringValue)
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		for range 5 {
			if err := ss.SendMsg(m); err != nil {
				return err
			}
		}
		return nil
	}}
	conn := dial(t, s.start(t, behind(l, grpclimit.WithPerMessage())...))
	cs := open(t, conn, watch)
	send(t, cs, "x")
	end(t, cs).is(t, codes.OK)
	equal(t, "units left", left(l, watch), 8)
	do(t, conn, say).is(t, codes.OK)
	equal(t, "units left after a unary RPC", left(l, watch), 7)
}

// A refused message ends its stream even where the handler does not heed what RecvMsg says.
func TestRefusedMessageEndsItsStream(t *testing.T) {
	for name, run := range map[string]func(grpc.ServerStream) error{
		"the error is returned":  echo,
		"another is returned":    func(ss grpc.ServerStream) error { _ = echo(ss); return errors.New("other") },
		"none is returned":       func(ss grpc.ServerStream) error { _ = echo(ss); return nil },
		"it waits for its end":   func(ss grpc.ServerStream) error { _ = echo(ss); <-ss.Context().Done(); return ss.Context().Err() },
		"it goes on to receive":  func(ss grpc.ServerStream) error { _ = echo(ss); return echo(ss) },
		"it goes on to send":     func(ss grpc.ServerStream) error { _ = echo(ss); return pour(ss) },
		"it reads in background": background,
		"it asks why it ended": func(ss grpc.ServerStream) error {
			_ = echo(ss)
			<-ss.Context().Done()
			if c := status.Code(context.Cause(ss.Context())); c != codes.ResourceExhausted {
				panic(c)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(2))})
			s := service{stream: run}
			conn := dial(t, s.start(t, behind(l, grpclimit.WithPerMessage())...))
			cs := open(t, conn, chat)
			send(t, cs, "x")
			send(t, cs, "x")
			for {
				if _, err := recv(cs); err != nil {
					equal(t, "code", status.Code(err), codes.ResourceExhausted)
					break
				}
			}
		})
	}
}

// pour sends until that fails.
func pour(ss grpc.ServerStream) error {
	for {
		if err := ss.SendMsg(wrapperspb.String("x")); err != nil {
			return err
		}
	}
}

// background is a handler whose reader and writer know nothing of each other.
func background(ss grpc.ServerStream) error {
	done := make(chan struct{})
	go func() { defer close(done); _ = echo(ss) }()
	<-ss.Context().Done()
	<-done
	return nil
}

func TestPerMessageOfTwoLimiters(t *testing.T) {
	b := newBench(t)
	outer := b.limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	inner := b.limiter(t, core.Policy{core.PerEndpoint(core.PerHour(3))}, core.WithName("inner"))
	per := grpclimit.WithPerMessage()
	var s service
	for name, row := range map[string]struct {
		chain [][]grpc.ServerOption
		want  int64 // left of the outer limiter
	}{
		"both charge messages":        {[][]grpc.ServerOption{behind(outer, per), behind(inner, per)}, 97},
		"the same twice":              {[][]grpc.ServerOption{behind(outer, per), behind(outer, per), behind(inner, per)}, 97},
		"the inner charges messages":  {[][]grpc.ServerOption{behind(outer), behind(inner, per)}, 99},
		"so does the one between too": {[][]grpc.ServerOption{behind(outer), behind(inner, per), behind(inner, per)}, 99},
	} {
		b.clock.Advance(time.Hour)
		var opts []grpc.ServerOption
		for _, o := range row.chain {
			opts = append(opts, o...)
		}
		cs := open(t, dial(t, s.start(t, opts...)), chat)
		exchange(t, cs)
		exchange(t, cs)
		send(t, cs, "too much for the inner one")
		a := end(t, cs)
		equal(t, name+": code", a.err.Code(), codes.ResourceExhausted)
		equal(t, name+": lines of ratelimit", len(a.trailer.Get("ratelimit")), 1)
		equal(t, name+": pushbacks", len(a.trailer.Get("grpc-retry-pushback-ms")), 1)
		equal(t, name+": units left of the outer one, to which the refused message was given back", left(outer, chat), row.want)
	}
}

func TestPerMessageWithACost(t *testing.T) {
	var w witness
	l := newBench(t).limiter(t, core.Policy{w.level(), core.PerIP(core.PerHour(100))})
	var s service
	conn := dial(t, s.start(t, behind(l, grpclimit.WithPerMessage(), grpclimit.WithCost(func(context.Context) int64 { return 10 }))...))
	cs := open(t, conn, chat)
	exchange(t, cs)
	end(t, cs).is(t, codes.OK)
	equal(t, "units left", left(l, chat), 80)
}

func TestRefusedMessageIsNotReplayed(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(3))})
	var n atomic.Int64
	s := service{stream: func(ss grpc.ServerStream) error { // it answers nothing, so that the client could still retry
		for {
			if err := ss.RecvMsg(new(wrapperspb.StringValue)); err != nil {
				return err
			}
		}
	}}
	conn := dial(t, s.start(t, append(attempts(&n), behind(l, grpclimit.WithPerMessage())...)...), retrying("RESOURCE_EXHAUSTED"))
	cs := open(t, conn, gather)
	for range 3 {
		send(t, cs, "x")
	}
	end(t, cs).is(t, codes.ResourceExhausted)
	equal(t, "attempts", n.Load(), 1)
}

func TestPerMessageWithoutAStore(t *testing.T) {
	var broken atomic.Bool
	store := delaying(0)
	answers := store.take
	store.take = func(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
		if broken.Load() {
			return errScripted
		}
		return answers(ctx, b, out)
	}
	var s service
	conn := dial(t, s.start(t, behind(limiter(t, store, closed()), grpclimit.WithPerMessage())...))
	cs := open(t, conn, chat)
	exchange(t, cs)
	broken.Store(true)
	send(t, cs, "x")
	a := end(t, cs)
	a.is(t, codes.Unavailable)
	info, _ := detail[*errdetails.ErrorInfo](t, a.err)
	equal(t, "reason", info.GetReason(), "RATE_LIMIT_NOT_CHECKED")
	hasOnly(t, "trailer", a.trailer, map[string]string{"grpc-retry-pushback-ms": "-1"})
}

func TestPerMessageHoldsMessagesBack(t *testing.T) {
	const delay = 250 * time.Millisecond
	store := delaying(delay)
	var s service
	conn := dial(t, s.start(t, behind(limiter(t, store, core.Policy{core.PerIP(core.PerMinute(60))}), grpclimit.WithPerMessage())...))
	began := time.Now()
	cs := open(t, conn, chat)
	exchange(t, cs)
	exchange(t, cs)
	if took := time.Since(began); took < 3*delay || took > 6*delay {
		t.Errorf("it took %v, want three times %v", took, delay)
	}
	end(t, cs).is(t, codes.OK)
}

func TestClientThatLeavesEndsTheHandler(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	ended := make(chan error, 1)
	s := service{stream: func(ss grpc.ServerStream) error {
		err := echo(ss)
		ended <- err
		return err
	}}
	conn := dial(t, s.start(t, behind(l, grpclimit.WithPerMessage(), grpclimit.WithStreamHeader())...))
	ctx, cancel := context.WithCancel(t.Context())
	cs, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat)
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, cs)
	cancel()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the handler saw %v", err)
		}
	case <-time.After(soon):
		t.Fatal("the handler goes on")
	}
	equal(t, "units left", left(l, chat), 98)
}
