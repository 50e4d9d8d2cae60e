package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

var errHungUp = errors.New("client hung up")

// leaving are the ways in which a caller leaves before the answer.
var leaving = map[string]struct {
	ctx   func() (context.Context, context.CancelFunc)
	cause error
}{
	"cancel": {func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Millisecond, cancel)
		return ctx, cancel
	}, context.Canceled},
	"cancel with a cause": {func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Millisecond, func() { cancel(errHungUp) })
		return ctx, func() { cancel(nil) }
	}, errHungUp},
	"deadline": {func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), 2*time.Millisecond)
	}, context.DeadlineExceeded},
	"deadline with a cause": {func() (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(context.Background(), 2*time.Millisecond, errHungUp)
	}, errHungUp},
	"cancelled before": {func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx, cancel
	}, context.Canceled},
	"deadline before": {func() (context.Context, context.CancelFunc) {
		return context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	}, context.DeadlineExceeded},
}

// Clients that hang up say nothing about Redis, are charged nothing, and disturb nobody.
func TestCallersThatLeaveAreNoFailureOfTheStore(t *testing.T) {
	t.Parallel()
	for name, opt := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.StartProxy(t, server.Addr())
			client := connect(t, proxy.Addr(), opt)
			warm(t, client, 4)
			proxy.SetDelay(50 * time.Millisecond)
			s := open(t, client, redisstore.WithBudget(patient))
			w := watching(s)
			for how, l := range leaving {
				b := bucket("b"+how, core.PerHour(100))
				var answered atomic.Int64 // before they left, on a machine that was late itself
				together(100, func(int) {
					ctx, cancel := l.ctx()
					defer cancel()
					start := time.Now()
					err := s.Take(ctx, []core.Bucket{b}, make([]core.Outcome, 1))
					if err == nil {
						answered.Add(1)
					} else if core.FaultOf(err) != core.FaultCaller || !errors.Is(err, l.cause) {
						t.Errorf("%s: error %v of fault %v, want the caller's, with its cause", how, err, core.FaultOf(err))
					}
					if took := time.Since(start); took > patient/2 {
						t.Errorf("%s: waited %v after all", how, took)
					}
				})
				idle(t, s)
				eventually(t, 5*time.Second, how+": charges given back", func() bool {
					return peek(t, s, b).Remaining == 100-answered.Load()
				})
				if answered.Load() > 50 {
					t.Errorf("%s: %d of 100 got an answer", how, answered.Load())
				}
				if o := take(t, s, b)[0]; !o.Charged {
					t.Errorf("%s: a request after them: %+v", how, o)
				}
			}
			if good, bad := w.reports(); good == 0 || len(bad) != 0 {
				t.Errorf("%d good reports and these failures: %v", good, bad)
			}
		})
	}
}

// The other operations know the caller's fault too.
func TestEveryOperationTellsTheCallersFault(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Start(t).Client(t), redisstore.WithBudget(patient))
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errHungUp)
	b, out := []core.Bucket{bucket("b", core.PerHour(5))}, []core.Outcome{{Charged: true}}
	for name, err := range map[string]error{
		"take": s.Take(ctx, b, out), "peek": s.Peek(ctx, b, out), "debit": s.Debit(ctx, b),
		"refund": s.Refund(ctx, b, out), "reset": s.Reset(ctx, b),
	} {
		if core.FaultOf(err) != core.FaultCaller || !errors.Is(err, errHungUp) {
			t.Errorf("%s: error %v of fault %v", name, err, core.FaultOf(err))
		}
	}
}

// A caller without patience must not be what decides how long others wait.
func TestOneCallersDeadlineIsNotAnothers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := &gate{Client: server.Client(t)}
	s := open(t, g, redisstore.WithBudget(patient))
	ctx, cancel := context.WithCancel(context.Background())
	outs := make([][]core.Outcome, 20)
	gather(t, s, g, len(outs), func(i int) {
		b := []core.Bucket{bucket(fmt.Sprint("b", i), core.PerHour(5))}
		if i == 0 {
			_ = s.Take(ctx, b, make([]core.Outcome, 1))
			return
		}
		if i == 1 {
			cancel() // the first waits in the queue by now
		}
		outs[i] = take(t, s, b...)
	})
	for i, out := range outs[1:] {
		if !out[0].Charged || out[0].Remaining != 4 {
			t.Errorf("request %d: %+v", i+1, out[0])
		}
	}
}

// A client that is slow but within the budget gets its answer, and one charge.
func TestSlowAnswerWithinTheBudgetIsAnAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	client := connect(t, proxy.Addr(), nil)
	warm(t, client, 2)
	proxy.SetDelay(30 * time.Millisecond)
	s := open(t, client, redisstore.WithBudget(patient))
	for left := int64(4); left >= 0; left-- {
		if o := take(t, s, bucket("b", core.PerHour(5)))[0]; o.Remaining != left {
			t.Errorf("%d left, want %d", o.Remaining, left)
		}
	}
}
