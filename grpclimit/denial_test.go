package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

var loopback = netip.MustParseAddr("127.0.0.1")

func TestDenialSaysExactlyWhatAndForHowLong(t *testing.T) {
	b := newBench(t)
	l := b.limiter(t, core.Policy{
		core.PerIP(core.Per(1, 1500*time.Millisecond), core.PerHour(2).WithBurst(1)),
		core.PerUser(core.PerMinute(100)),
		{Name: "dark", Key: func(*core.Request) (string, bool) { return "one", true }, Limits: []core.Limit{core.PerDay(1)}, Shadow: true},
	})
	var s service
	conn := dial(t, s.start(t, behind(l, grpclimit.WithUser(func(context.Context) string { return "ann" }))...))
	do(t, conn, say).is(t, codes.OK)
	a := do(t, conn, say)
	a.is(t, codes.ResourceExhausted)
	equal(t, "message", a.err.Message(), "rate limit exceeded")
	want := []proto.Message{
		&errdetails.RetryInfo{RetryDelay: durationpb.New(30 * time.Minute)},
		&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{
			{Subject: "level:ip", Description: "1 per 1.5s", QuotaMetric: "ip", QuotaId: "ip", QuotaValue: 1},
			{Subject: "level:ip", Description: "2 per 1h0m0s burst 1", QuotaMetric: "ip-2", QuotaId: "ip-2", QuotaValue: 2},
		}},
		&errdetails.ErrorInfo{Reason: "RATE_LIMIT_EXCEEDED", Domain: "tierlimit", Metadata: map[string]string{"level": "ip", "reason": "quota"}},
	}
	details := a.err.Details()
	if len(details) != len(want) {
		t.Fatalf("%d details, want %d: %v", len(details), len(want), details)
	}
	for i := range want {
		if !proto.Equal(details[i].(proto.Message), want[i]) {
			t.Errorf("detail %d is %v, want %v", i, details[i], want[i])
		}
	}
	if text := a.err.Proto().String(); strings.Contains(text, "127.0.0.1") || strings.Contains(text, "ann") {
		t.Errorf("the status tells who the client is: %s", text)
	}
	if len(a.header) > 0 {
		t.Errorf("header %v, want none: it would end the client's retries", a.header)
	}
	hasOnly(t, "trailer", a.trailer, map[string]string{
		"ratelimit":        `"ip";r=0;t=2, "ip-2";r=0;t=1800, "user";r=99;t=1`,
		"ratelimit-policy": `"ip";q=1;w=2, "ip-2";q=2;w=3600, "user";q=100;w=60`,
		"retry-after":      "1800", "grpc-retry-pushback-ms": "-1",
	})
	equal(t, "handlers run", s.calls.Load(), 1)
	b.clock.Advance(30*time.Minute - 1)
	equal(t, "wait before the end", retryDelay(t, do(t, conn, say).err), 1)
	b.clock.Advance(1)
	do(t, conn, say).is(t, codes.OK)
}

func TestStreamIsDeniedAlike(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.Per(1, 1500*time.Millisecond))})
	var s service
	conn := dial(t, s.start(t, behind(l)...))
	end(t, open(t, conn, chat)).is(t, codes.OK)
	for _, method := range []string{chat, watch, gather} {
		a := end(t, open(t, conn, method))
		a.is(t, codes.ResourceExhausted)
		equal(t, "RetryInfo", retryDelay(t, a.err), 1500*time.Millisecond)
		hasOnly(t, "header", a.header, nil)
		hasOnly(t, "trailer", a.trailer, map[string]string{
			"ratelimit": `"ip";r=0;t=2`, "ratelimit-policy": `"ip";q=1;w=2`, "retry-after": "2", "grpc-retry-pushback-ms": "1500",
		})
	}
	equal(t, "handlers run", s.calls.Load(), 1)
}

func TestPushback(t *testing.T) {
	for name, row := range map[string]struct {
		limit   core.Limit
		cost    int64
		timeout time.Duration
		want    string
	}{
		"a short wait":                      {limit: core.Per(1, 1500*time.Millisecond), timeout: soon, want: "1500"},
		"is rounded up":                     {limit: core.Per(1, 1500*time.Millisecond+1), timeout: soon, want: "1501"},
		"and is never nothing":              {limit: core.Per(1, time.Microsecond), timeout: soon, want: "1"},
		"the longest that is told":          {limit: core.Per(1, 5*time.Second), timeout: soon, want: "5000"},
		"above it the client decides":       {limit: core.Per(1, 5*time.Second+1), timeout: soon, want: ""},
		"a wait that outlasts the deadline": {limit: core.Per(1, 3*time.Second), timeout: 2 * time.Second, want: "-1"},
		"also a long one":                   {limit: core.PerHour(1), timeout: soon, want: "-1"},
		"no wait helps":                     {limit: core.Per(2, time.Second), cost: 3, timeout: soon, want: "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newBench(t).limiter(t, core.Policy{core.PerIP(row.limit)})
			var s service
			conn := dial(t, s.start(t, behind(l, grpclimit.WithCost(func(context.Context) int64 { return max(row.cost, 1) }))...))
			var a answer
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), row.timeout)
				defer cancel()
				a = doContext(ctx, conn, say)
			}
			a.is(t, codes.ResourceExhausted)
			equal(t, "pushback", strings.Join(a.trailer.Get("grpc-retry-pushback-ms"), ","), row.want)
		})
	}
}

// retrying is a client's retry policy for a code.
func retrying(code string) grpc.DialOption {
	return grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": [%q]}}]}`, code))
}

// attempts counts what reaches a server.
func attempts(n *atomic.Int64) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			n.Add(1)
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			n.Add(1)
			return next(srv, ss)
		}),
	}
}

func TestDenialIsNoReasonToRetryForClientsThatRetryUnavailable(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.Per(1, 1500*time.Millisecond))})
	var s service
	var n atomic.Int64
	conn := dial(t, s.start(t, append(attempts(&n), behind(l)...)...), retrying("UNAVAILABLE"))
	do(t, conn, say).is(t, codes.OK)
	do(t, conn, say).is(t, codes.ResourceExhausted)
	end(t, open(t, conn, chat)).is(t, codes.ResourceExhausted)
	equal(t, "attempts", n.Load(), 3)
}

func TestRetryingClientWaitsAsLongAsItIsTold(t *testing.T) {
	const wait = 250 * time.Millisecond
	b := newBench(t)
	for name, limiters := range map[string][]*core.Limiter{
		"one limiter": {b.limiter(t, core.Policy{core.PerIP(core.Per(1, wait))})},
		"two limiters, of which the inner denies": {
			b.limiter(t, core.Policy{core.PerIP(core.PerHour(100))}, core.WithName("outer")),
			b.limiter(t, core.Policy{core.PerIP(core.Per(1, wait))}, core.WithName("inner")),
		},
	} {
		var n atomic.Int64
		opts := attempts(&n)
		for _, l := range limiters {
			opts = append(opts, behind(l)...)
		}
		var s service
		conn := dial(t, s.start(t, opts...), retrying("RESOURCE_EXHAUSTED"))
		for kind, call := range map[string]func() answer{
			"unary":  func() answer { return do(t, conn, say) },
			"stream": func() answer { return end(t, open(t, conn, chat)) },
		} {
			b.clock.Advance(time.Hour)
			call().is(t, codes.OK)
			n.Store(0)
			began := time.Now()
			call().is(t, codes.ResourceExhausted) // the store's clock stands still
			if took := time.Since(began); n.Load() != 3 || took < 2*wait || took > 2*wait+time.Second {
				t.Errorf("%s, %s: %d attempts in %v, want 3, each after %v", name, kind, n.Load(), took, wait)
			}
			n.Store(0)
			time.AfterFunc(wait/2, func() { b.clock.Advance(wait) })
			call().is(t, codes.OK)
			equal(t, name+", "+kind+": attempts", n.Load(), 2)
		}
	}
}

func TestRetryingClientDoesNotTryWhatCannotHelp(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(2))})
	var n atomic.Int64
	var s service
	cost := func(context.Context) int64 { return 3 }
	conn := dial(t, s.start(t, append(attempts(&n), behind(l, grpclimit.WithCost(cost))...)...), retrying("RESOURCE_EXHAUSTED"))
	a := do(t, conn, say)
	a.is(t, codes.ResourceExhausted)
	equal(t, "attempts", n.Load(), 1)
	if _, ok := detail[*errdetails.RetryInfo](t, a.err); ok {
		t.Error("RetryInfo, though no wait helps")
	}
	hasOnly(t, "trailer", a.trailer, map[string]string{
		"ratelimit": `"ip";r=2;t=0`, "ratelimit-policy": `"ip";q=2;w=3600`, "grpc-retry-pushback-ms": "-1",
	})
}

func TestInvalidCostIsAnInvalidArgument(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(2))})
	var s service
	conn := dial(t, s.start(t, behind(l, grpclimit.WithCost(func(context.Context) int64 { return -5 }))...))
	a := do(t, conn, say)
	a.is(t, codes.InvalidArgument)
	info, _ := detail[*errdetails.ErrorInfo](t, a.err)
	equal(t, "reason", info.GetReason(), "RATE_LIMIT_COST_INVALID")
	hasOnly(t, "trailer", a.trailer, map[string]string{"grpc-retry-pushback-ms": "-1"})
	equal(t, "units left", left(l, say), 2)
	equal(t, "handlers run", s.calls.Load(), 0)
}

func TestBlockAllIsNoWait(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.Global(core.BlockAll)})
	var s service
	a := do(t, dial(t, s.start(t, behind(l)...)), say)
	a.is(t, codes.ResourceExhausted)
	equal(t, "RetryInfo", retryDelay(t, a.err), 0)
	quota, _ := detail[*errdetails.QuotaFailure](t, a.err)
	equal(t, "violations", len(quota.GetViolations()), 1)
}

func TestWithDenyAnswersInstead(t *testing.T) {
	own := errors.New("enough")
	for name, row := range map[string]struct {
		deny func(context.Context, core.Decision) error
		want codes.Code
	}{
		"a status":       {func(context.Context, core.Decision) error { return status.Error(codes.Aborted, "enough") }, codes.Aborted},
		"a plain error":  {func(context.Context, core.Decision) error { return own }, codes.Unknown},
		"nil is Status":  {func(context.Context, core.Decision) error { return nil }, codes.ResourceExhausted},
		"what Status is": {func(_ context.Context, d core.Decision) error { return grpclimit.Status(d).Err() }, codes.ResourceExhausted},
		"a method of its own": {func(ctx context.Context, d core.Decision) error {
			seen, _ := core.FromContext(ctx)
			method, _ := grpc.Method(ctx)
			if seen.RetryAfter != d.RetryAfter || method != say && method != chat {
				return errors.New("not in the context")
			}
			return status.Error(codes.DataLoss, "as expected")
		}, codes.DataLoss},
	} {
		l := newBench(t).limiter(t, core.Policy{core.PerIP(core.Per(1, 1500*time.Millisecond))})
		var s service
		conn := dial(t, s.start(t, behind(l, grpclimit.WithDeny(row.deny))...))
		do(t, conn, say).is(t, codes.OK)
		for kind, a := range map[string]answer{"unary": do(t, conn, say), "stream": end(t, open(t, conn, chat))} {
			equal(t, name+", "+kind+": code", a.err.Code(), row.want)
			hasOnly(t, name+", "+kind+": trailer", a.trailer, map[string]string{
				"ratelimit": `"ip";r=0;t=2`, "ratelimit-policy": `"ip";q=1;w=2`, "retry-after": "2", "grpc-retry-pushback-ms": "1500",
			})
		}
		equal(t, name+": handlers run", s.calls.Load(), 1)
	}
}

func TestStatusOfAnAllowedDecisionIsOK(t *testing.T) {
	equal(t, "code", grpclimit.Status(core.Decision{Allowed: true}).Code(), codes.OK)
	equal(t, "code of the zero decision", grpclimit.Status(core.Decision{}).Code(), codes.ResourceExhausted)
}

func TestInterceptorsWithoutATransport(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(1)), core.PerEndpoint(core.PerHour(1))})
	unary := grpclimit.UnaryServerInterceptor(l, grpclimit.WithUser(func(ctx context.Context) string {
		md, _ := metadata.FromIncomingContext(ctx)
		return strings.Join(md.Get("user"), "")
	}))
	for _, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		_, err := unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: say}, func(context.Context, any) (any, error) { return 1, nil })
		equal(t, "code", status.Code(err), want)
	}
	equal(t, "requests without an address", l.Stats().NoAddress, 2)
}
