package grpclimit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

// hundred is the metadata of RPCs that pay for the nth time out of 100 an hour.
func hundred(nth int) map[string]string {
	return map[string]string{"ratelimit": fmt.Sprintf(`"ip";r=%d;t=36`, 100-nth), "ratelimit-policy": `"ip";q=100;w=3600`}
}

func TestUnaryTellsItsLimits(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	handlers := []struct {
		name     string
		run      func(context.Context, string) (string, error)
		code     codes.Code
		inHeader bool
	}{
		{"success", func(context.Context, string) (string, error) { return "ok", nil }, codes.OK, true},
		{"a status", func(context.Context, string) (string, error) { return "", status.Error(codes.NotFound, "no") }, codes.NotFound, false},
		{"a header of the handler's", func(ctx context.Context, _ string) (string, error) {
			return "ok", grpc.SetHeader(ctx, metadata.Pairs("own", "1"))
		}, codes.OK, true},
		{"a header that the handler has sent", func(ctx context.Context, _ string) (string, error) {
			return "ok", grpc.SendHeader(ctx, metadata.Pairs("own", "1"))
		}, codes.OK, false},
	}
	for i, h := range handlers {
		s := service{unary: h.run}
		a := do(t, dial(t, s.start(t, behind(l)...)), say)
		equal(t, h.name+": code", a.err.Code(), h.code)
		header, trailer := hundred(i+1), map[string]string(nil)
		if !h.inHeader {
			header, trailer = trailer, header
		}
		hasOnly(t, h.name+": header", a.header, header)
		hasOnly(t, h.name+": trailer", a.trailer, trailer)
	}
}

func TestFailingHandlerKeepsTheClientsRetries(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	fail := status.Error(codes.Unavailable, "try again")
	for name, opts := range map[string][]grpclimit.Option{"default": nil, "stream header": {grpclimit.WithStreamHeader()}} {
		var n atomic.Int64
		s := service{
			unary:  func(context.Context, string) (string, error) { return "", fail },
			stream: func(grpc.ServerStream) error { return fail },
		}
		conn := dial(t, s.start(t, append(attempts(&n), behind(l, opts...)...)...), retrying("UNAVAILABLE"))
		do(t, conn, say).is(t, codes.Unavailable)
		equal(t, name+": attempts of the unary RPC", n.Load(), 3)
		end(t, open(t, conn, chat)).is(t, codes.Unavailable)
		equal(t, name+": attempts of both", n.Load(), 6)
	}
}

func TestStreamTellsItsLimitsAtItsEnd(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	var s service
	conn := dial(t, s.start(t, behind(l)...))
	cs := open(t, conn, chat)
	for range 3 {
		exchange(t, cs)
	}
	a := end(t, cs)
	a.is(t, codes.OK)
	hasOnly(t, "header", a.header, nil)
	hasOnly(t, "trailer", a.trailer, hundred(1))
	equal(t, "units left", left(l, chat), 99)
}

func TestStreamHeaderComesWithTheFirstMessage(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	for i, h := range []struct {
		name     string
		run      func(grpc.ServerStream) error
		inHeader bool
	}{
		{"messages", nil, true},
		{"a header that the handler sends", func(ss grpc.ServerStream) error { return ss.SendHeader(metadata.Pairs("own", "1")) }, true},
		{"no message", func(ss grpc.ServerStream) error { return ss.SetHeader(metadata.Pairs("own", "1")) }, false},
		{"a header that grpc.SendHeader sent", func(ss grpc.ServerStream) error {
			if err := grpc.SendHeader(ss.Context(), metadata.Pairs("own", "1")); err != nil {
				return err
			}
			return echo(ss)
		}, false},
	} {
		s := service{stream: h.run}
		cs := open(t, dial(t, s.start(t, behind(l, grpclimit.WithStreamHeader())...)), chat)
		if h.run == nil {
			exchange(t, cs)
			exchange(t, cs)
			header, err := cs.Header()
			if err != nil {
				t.Fatal(err)
			}
			hasOnly(t, h.name+": header while the stream goes on", header, hundred(i+1))
		}
		a := end(t, cs)
		a.is(t, codes.OK)
		header, trailer := hundred(i+1), map[string]string(nil)
		if !h.inHeader {
			header, trailer = trailer, header
		}
		hasOnly(t, h.name+": header", a.header, header)
		hasOnly(t, h.name+": trailer", a.trailer, trailer)
	}
}

func TestSameLimiterTwiceChargesOnce(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	var s service
	conn := dial(t, s.start(t, append(behind(l), behind(l)...)...))
	hasOnly(t, "unary header", do(t, conn, say).header, hundred(1))
	hasOnly(t, "stream trailer", end(t, open(t, conn, chat)).trailer, hundred(2))
	equal(t, "units left", left(l, say), 98)
}

func TestTwoLimitersTellOneStory(t *testing.T) {
	b := newBench(t)
	outer := b.limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	inner := b.limiter(t, core.Policy{core.PerEndpoint(core.Per(1, 2*time.Second))}, core.WithName("inner"))
	s := service{unary: func(ctx context.Context, _ string) (string, error) {
		d, _ := core.FromContext(ctx)
		return d.Level, nil
	}}
	conn := dial(t, s.start(t, append(behind(outer), behind(inner)...)...))
	both := map[string]string{
		"ratelimit":        `"ip";r=99;t=36, "inner:endpoint";r=0;t=2`,
		"ratelimit-policy": `"ip";q=100;w=3600, "inner:endpoint";q=1;w=2`,
	}
	a := do(t, conn, say)
	equal(t, "level that the handler finds", a.text, "endpoint")
	hasOnly(t, "header", a.header, both)
	both["retry-after"], both["grpc-retry-pushback-ms"] = "2", "2000"
	a = do(t, conn, say)
	a.is(t, codes.ResourceExhausted)
	both["ratelimit"] = `"ip";r=99;t=36, "inner:endpoint";r=0;t=2`
	hasOnly(t, "trailer", a.trailer, both)
	equal(t, "units left of the outer limiter, which the inner one's denial gave back", left(outer, say), 99)
}

func TestRefusalThatAnInterceptorBetweenHidesIsStillTold(t *testing.T) {
	b := newBench(t)
	outer := b.limiter(t, core.Policy{core.PerIP(core.PerHour(100))})
	inner := b.limiter(t, core.Policy{core.PerEndpoint(core.Per(1, 2*time.Second))}, core.WithName("inner"))
	hide := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if resp, err := next(ctx, req); err == nil {
			return resp, nil
		}
		return req, nil
	}
	var s service
	conn := dial(t, s.start(t, grpc.ChainUnaryInterceptor(
		grpclimit.UnaryServerInterceptor(outer), hide, grpclimit.UnaryServerInterceptor(inner),
	)))
	do(t, conn, say).is(t, codes.OK)
	a := do(t, conn, say)
	a.is(t, codes.OK)
	hasOnly(t, "header", a.header, nil)
	equal(t, "retry-after in the trailer", len(a.trailer.Get("retry-after")), 1)
}
