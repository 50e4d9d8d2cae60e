package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

var errScripted = &core.StoreError{Fault: core.FaultStore, Err: errors.New("dial tcp 10.1.2.3:6379: i/o timeout")}

// closed is a level that refuses without the store.
func closed() core.Policy {
	return core.Policy{{Name: "ip", Key: core.PerIP().Key, Limits: []core.Limit{core.PerMinute(60)}, OnFailure: core.Closed}}
}

func TestFailedStoreIsUnavailable(t *testing.T) {
	var n atomic.Int64
	var s service
	conn := dial(t, s.start(t, append(attempts(&n), behind(limiter(t, failing(errScripted), closed()))...)...), retrying("UNAVAILABLE"))
	for kind, call := range map[string]func() answer{
		"unary":  func() answer { return do(t, conn, say) },
		"stream": func() answer { return end(t, open(t, conn, chat)) },
	} {
		n.Store(0)
		a := call()
		a.is(t, codes.Unavailable)
		equal(t, kind+": attempts, as the client's own policy has it", n.Load(), 3)
		equal(t, "details", len(a.err.Details()), 1)
		info, _ := detail[*errdetails.ErrorInfo](t, a.err)
		equal(t, "reason", info.GetReason(), "RATE_LIMIT_NOT_CHECKED")
		if strings.Contains(a.err.Proto().String(), "10.1.2.3") {
			t.Errorf("the client is told about the inside: %v", a.err)
		}
		hasOnly(t, "header", a.header, nil)
		hasOnly(t, "trailer", a.trailer, nil)
	}
	equal(t, "handlers run", s.calls.Load(), 0)
}

func TestFailedStoreOpens(t *testing.T) {
	p := closed()
	p[0].OnFailure = core.Open
	var s service
	conn := dial(t, s.start(t, behind(limiter(t, failing(errScripted), p))...))
	for _, a := range []answer{do(t, conn, say), end(t, open(t, conn, chat))} {
		a.is(t, codes.OK)
		hasOnly(t, "header", a.header, nil)
		hasOnly(t, "trailer", a.trailer, nil)
	}
}

func TestDelayIsWaitedFor(t *testing.T) {
	const delay = 300 * time.Millisecond
	var s service
	conn := dial(t, s.start(t, append(behind(limiter(t, delaying(delay), core.Policy{core.PerIP(core.PerMinute(60))})), attempts(new(atomic.Int64))...)...))
	for kind, call := range map[string]func() answer{
		"unary":  func() answer { return do(t, conn, say) },
		"stream": func() answer { return end(t, open(t, conn, chat)) },
	} {
		began := time.Now()
		call().is(t, codes.OK)
		if took := time.Since(began); took < delay || took > 3*delay {
			t.Errorf("%s: it took %v, want %v", kind, took, delay)
		}
	}
}

func TestDelayAboveTheMostIsADenial(t *testing.T) {
	store := delaying(1500 * time.Millisecond)
	store.take = func(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
		for i, b := range buckets {
			out[i] = core.Outcome{Admits: true, Charged: true, Remaining: 5, ResetAfter: time.Second, Source: core.FromShared}
			if b.Level == "endpoint" {
				out[i].Delay = 1500 * time.Millisecond
			}
		}
		return nil
	}
	l := limiter(t, store, core.Policy{core.PerIP(core.PerMinute(60)), core.PerEndpoint(core.PerMinute(30))})
	var s service
	for most, want := range map[time.Duration]time.Duration{
		-1:                     500 * time.Millisecond, // the default is a second
		400 * time.Millisecond: 1100 * time.Millisecond,
		0:                      1500 * time.Millisecond,
	} {
		var opts []grpclimit.Option
		if most >= 0 {
			opts = append(opts, grpclimit.WithMaxDelay(most))
		}
		store.refunds.Store(0)
		a := do(t, dial(t, s.start(t, behind(l, opts...)...)), say)
		a.is(t, codes.ResourceExhausted)
		equal(t, "RetryInfo", retryDelay(t, a.err), want)
		equal(t, "refunds", store.refunds.Load(), 1)
		quota, _ := detail[*errdetails.QuotaFailure](t, a.err)
		if v := quota.GetViolations(); len(v) != 1 || v[0].GetQuotaId() != "endpoint" {
			t.Errorf("violations %v, want of the leaky bucket alone", v)
		}
	}
	equal(t, "handlers run", s.calls.Load(), 0)
}

// What ended is the caller's context, not the store's health: no UNAVAILABLE, which is retried.
func TestCallerThatLeftIsNotToldOfAFailure(t *testing.T) {
	gone := func(cause error) *scripted {
		return failing(&core.StoreError{Fault: core.FaultCaller, Err: fmt.Errorf("caller gone: %w", cause)})
	}
	for name, row := range map[string]struct {
		store   core.Store
		timeout time.Duration
		want    codes.Code
	}{
		"canceled during the store's call":    {gone(context.Canceled), soon, codes.Canceled},
		"deadline during the store's call":    {gone(context.DeadlineExceeded), soon, codes.DeadlineExceeded},
		"deadline before a leaky bucket ends": {delaying(900 * time.Millisecond), 400 * time.Millisecond, codes.DeadlineExceeded},
	} {
		p := closed()
		if row.timeout < soon {
			p = core.Policy{core.PerIP(core.PerMinute(60))}
		}
		began := time.Now()
		got := make(chan codes.Code, 1)
		see := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			resp, err := next(ctx, req)
			got <- codeOf(err)
			return resp, err
		}
		var s service
		opts := append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(see)}, behind(limiter(t, row.store, p))...)
		ctx, cancel := context.WithTimeout(t.Context(), row.timeout)
		doContext(ctx, dial(t, s.start(t, opts...)), say)
		cancel()
		equal(t, name, <-got, row.want)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

func TestClientThatLeavesEndsTheWait(t *testing.T) {
	store := delaying(time.Second)
	var s service
	conn := dial(t, s.start(t, behind(limiter(t, store, core.Policy{core.PerIP(core.PerMinute(60))}))...))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	doContext(ctx, conn, say).is(t, codes.Canceled)
	eventually(t, "the refund", func() bool { return store.refunds.Load() == 1 })
	equal(t, "handlers run", s.calls.Load(), 0)
}
