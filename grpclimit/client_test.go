package grpclimit_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/grpclimit"
)

// pacing is a client's options with one limiter on everything.
func pacing(l *core.Limiter, opts ...grpclimit.Option) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(grpclimit.UnaryClientInterceptor(l, opts...)),
		grpc.WithChainStreamInterceptor(grpclimit.StreamClientInterceptor(l, opts...)),
	}
}

// ticking is a limiter by the real clock.
func ticking(t *testing.T, p core.Policy) *core.Limiter {
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	return limiter(t, store, p)
}

// free is a limiter that holds nothing back.
func free(t *testing.T) *core.Limiter { return ticking(t, core.Policy{core.Global(core.Unlimited)}) }

// took checks for how long something was held back.
func took(t *testing.T, what string, began time.Time, want time.Duration) {
	t.Helper()
	if d := time.Since(began); d < want || d > want+time.Second {
		t.Errorf("%s: it took %v, want %v", what, d, want)
	}
}

func TestClientKeepsToALimit(t *testing.T) {
	var s service
	conn := dial(t, s.start(t), pacing(ticking(t, core.Policy{core.PerEndpoint(core.Per(10, time.Second).WithBurst(1))}))...)
	began := time.Now()
	for range 4 {
		do(t, conn, say).is(t, codes.OK)
	}
	took(t, "four calls", began, 300*time.Millisecond)
	began = time.Now()
	for range 4 {
		end(t, open(t, conn, chat)).is(t, codes.OK)
	}
	took(t, "four streams", began, 300*time.Millisecond)
	equal(t, "handlers run", s.calls.Load(), 8)
}

func TestClientsTogetherKeepToALimit(t *testing.T) {
	var s service
	conn := dial(t, s.start(t), pacing(ticking(t, core.Policy{core.Global(core.PerSecond(50).WithBurst(5))}))...)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if i%2 == 0 {
				do(t, conn, say)
			} else if cs, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat); err == nil {
				end(t, cs)
			}
		})
	}
	wg.Wait()
	took(t, "thirty calls", began, 500*time.Millisecond)
	equal(t, "handlers run", s.calls.Load(), 30)
}

func TestClientFailsAtOnceWhatCannotBeSentInTime(t *testing.T) {
	b := newBench(t)
	within := func(d time.Duration) func(t *testing.T) context.Context {
		return func(t *testing.T) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			return ctx
		}
	}
	forever := func(t *testing.T) context.Context { return t.Context() }
	three := grpclimit.WithCost(func(context.Context) int64 { return 3 })
	negative := grpclimit.WithCost(func(context.Context) int64 { return -1 })
	tight := core.Policy{core.PerEndpoint(core.Per(2, 2*time.Minute).WithBurst(1))}
	for name, row := range map[string]struct {
		limiter *core.Limiter
		opts    []grpclimit.Option
		ctx     func(*testing.T) context.Context
		want    codes.Code
		retry   time.Duration
		sent    int64
	}{
		"its deadline is earlier":           {b.limiter(t, tight, core.WithName("a")), nil, within(30 * time.Second), codes.DeadlineExceeded, 0, 1},
		"it may not be held back so long":   {b.limiter(t, tight, core.WithName("b")), []grpclimit.Option{grpclimit.WithMaxDelay(59 * time.Second)}, forever, codes.ResourceExhausted, time.Minute, 1},
		"it may not be held back at all":    {b.limiter(t, tight, core.WithName("c")), []grpclimit.Option{grpclimit.WithMaxDelay(0)}, forever, codes.ResourceExhausted, time.Minute, 1},
		"both, and the deadline is earlier": {b.limiter(t, tight, core.WithName("d")), []grpclimit.Option{grpclimit.WithMaxDelay(0)}, within(30 * time.Second), codes.DeadlineExceeded, 0, 1},
		"no wait would help":                {b.limiter(t, tight, core.WithName("e")), []grpclimit.Option{three}, forever, codes.ResourceExhausted, 0, 0},
		"its cost is invalid":               {b.limiter(t, tight, core.WithName("f")), []grpclimit.Option{negative}, forever, codes.InvalidArgument, 0, 0},
		"the store fails":                   {limiter(t, failing(errScripted), core.Policy{{Name: "endpoint", Key: core.PerEndpoint().Key, Limits: tight[0].Limits, OnFailure: core.Closed}}), nil, forever, codes.Unavailable, 0, 0},
		"a leaky bucket is too slow":        {limiter(t, delaying(1500*time.Millisecond), tight), []grpclimit.Option{grpclimit.WithMaxDelay(time.Second)}, forever, codes.ResourceExhausted, 500 * time.Millisecond, 0},
		"a leaky bucket outlasts it":        {limiter(t, delaying(time.Minute), tight), nil, within(30 * time.Second), codes.DeadlineExceeded, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var s service
			addr := s.start(t)
			conn := dial(t, addr, pacing(row.limiter, row.opts...)...)
			if row.sent > 0 {
				do(t, conn, say).is(t, codes.OK)
			}
			began := time.Now()
			a := doContext(row.ctx(t), conn, say)
			answered := time.Since(began)
			a.is(t, row.want)
			_, err := conn.NewStream(row.ctx(t), &grpc.StreamDesc{ClientStreams: true}, say)
			equal(t, "code of the stream", status.Code(err), row.want)
			if !strings.HasPrefix(a.err.Message(), "not sent: ") {
				t.Errorf("message %q", a.err.Message())
			}
			// What was left of the longest wait when it was decided: less by the time that took.
			if got := retryDelay(t, a.err); got < row.retry || got > row.retry+answered || (row.retry == 0 && got != 0) {
				t.Errorf("RetryInfo is %v, want %v and at most the %v more that the answer took", got, row.retry, answered)
			}
			took(t, "the failures", began, 0)
			equal(t, "handlers run", s.calls.Load(), row.sent)
		})
	}
}

func TestWhatIsNotSentIsNotCharged(t *testing.T) {
	store := delaying(time.Minute)
	l := limiter(t, store, core.Policy{core.PerEndpoint(core.PerMinute(60))})
	var s service
	conn := dial(t, s.start(t), pacing(l)...)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	a := doContext(ctx, conn, say)
	a.is(t, codes.Canceled)
	took(t, "the wait", began, 50*time.Millisecond)
	equal(t, "refunds", store.refunds.Load(), 1)
	doContext(ctx, conn, say).is(t, codes.Canceled) // it had left before
	equal(t, "refunds", store.refunds.Load(), 1)
	equal(t, "handlers run", s.calls.Load(), 0)
}

func TestClientThatLeavesIsNotHeldBack(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerEndpoint(core.PerHour(1))})
	var s service
	conn := dial(t, s.start(t), pacing(l)...)
	do(t, conn, say).is(t, codes.OK)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	doContext(ctx, conn, say).is(t, codes.Canceled)
	took(t, "the wait", began, 50*time.Millisecond)
	equal(t, "handlers run", s.calls.Load(), 1)
}

func TestClientWaitsAsLongAsTheServerSays(t *testing.T) {
	const wait = time.Second
	for kind, call := range map[string]func(*testing.T, *grpc.ClientConn) answer{
		"unary":  func(t *testing.T, c *grpc.ClientConn) answer { return do(t, c, say) },
		"stream": func(t *testing.T, c *grpc.ClientConn) answer { return end(t, open(t, c, chat)) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var s service
			var n atomic.Int64
			server := ticking(t, core.Policy{core.PerEndpoint(core.Per(1, wait))})
			opts := append(attempts(&n), behind(server)...)
			addr := s.start(t, opts...)
			pace := pacing(free(t))
			conn := dial(t, addr, pace...)
			call(t, conn).is(t, codes.OK)
			a := call(t, conn)
			a.is(t, codes.ResourceExhausted)
			equal(t, "attempts: a refused call is not repeated", n.Load(), 2)
			began, told := time.Now(), retryDelay(t, a.err)
			do(t, conn, whisp).is(t, codes.OK)                                                 // another method
			do(t, dial(t, s.start(t, opts...), pace...), whisp).is(t, codes.ResourceExhausted) // another server
			took(t, "calls of something else", began, 0)
			ctx, cancel := context.WithTimeout(t.Context(), told/2)
			defer cancel()
			if kind == "unary" {
				doContext(ctx, conn, say).is(t, codes.DeadlineExceeded)
			} else {
				_, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, chat)
				equal(t, "code", status.Code(err), codes.DeadlineExceeded)
			}
			took(t, "a call whose deadline is earlier", began, 0)
			n.Store(0)
			call(t, dial(t, addr, pace...)).is(t, codes.OK) // a connection to the same server waits too
			if d := time.Since(began); d < told-10*time.Millisecond {
				t.Errorf("sent after %v, told %v", d, told)
			}
			equal(t, "attempts", n.Load(), 1)
		})
	}
}

// refusing makes a handler's error.
func refusing(code codes.Code, retry time.Duration) error {
	s := status.New(code, "scripted")
	if retry != 0 {
		s, _ = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retry)})
	}
	return s.Err()
}

func TestWhatAServerSaysThatClientsHeed(t *testing.T) {
	const wait = time.Second
	for name, row := range map[string]struct {
		err      error
		pushback []string
		heeded   bool
	}{
		"RetryInfo":                       {refusing(codes.ResourceExhausted, wait), nil, true},
		"RetryInfo beside no-retry":       {refusing(codes.ResourceExhausted, wait), []string{"-1"}, true},
		"RetryInfo beside a longer wait":  {refusing(codes.ResourceExhausted, wait), []string{"600000"}, true},
		"a pushback":                      {refusing(codes.ResourceExhausted, 0), []string{"1000"}, true},
		"two pushbacks":                   {refusing(codes.ResourceExhausted, 0), []string{"1000", "1000"}, false},
		"no-retry":                        {refusing(codes.ResourceExhausted, 0), []string{"-1"}, false},
		"nonsense":                        {refusing(codes.ResourceExhausted, 0), []string{"soon"}, false},
		"a wait of less than nothing":     {refusing(codes.ResourceExhausted, -wait), nil, false},
		"nothing, as for a large message": {refusing(codes.ResourceExhausted, 0), nil, false},
		"another code":                    {refusing(codes.Unavailable, wait), []string{"1000"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s service
			s.unary = func(ctx context.Context, _ string) (string, error) {
				if s.calls.Load() > 1 {
					return "ok", nil
				}
				return "", cmp(grpc.SetTrailer(ctx, metadata.MD{"grpc-retry-pushback-ms": row.pushback}), row.err)
			}
			conn := dial(t, s.start(t), pacing(free(t))...)
			do(t, conn, say).is(t, status.Code(row.err))
			began := time.Now()
			do(t, conn, say).is(t, codes.OK)
			if heeded := time.Since(began) > wait-50*time.Millisecond; heeded != row.heeded {
				t.Errorf("waited %v", time.Since(began))
			}
			equal(t, "handlers run", s.calls.Load(), 2)
		})
	}
}

func cmp(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// What a server says while the limiter holds a call back counts too, and the call is charged once.
func TestServersWordComesWhileTheLimiterWaits(t *testing.T) {
	const hold, wait = 150 * time.Millisecond, 400 * time.Millisecond
	for name, timeout := range map[string]time.Duration{"waits": soon, "gives up": hold + wait/2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var takes atomic.Int64
			store := delaying(hold)
			answers := store.take
			store.take = func(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
				takes.Add(1)
				return answers(ctx, b, out)
			}
			s := service{}
			s.unary = func(context.Context, string) (string, error) {
				if s.calls.Load() > 1 {
					return "ok", nil
				}
				return "", refusing(codes.ResourceExhausted, wait)
			}
			conn := dial(t, s.start(t), pacing(limiter(t, store, core.Policy{core.PerEndpoint(core.PerMinute(60))}))...)
			var wg sync.WaitGroup
			began := time.Now()
			wg.Go(func() { equal(t, "code of the first", do(t, conn, say).err.Code(), codes.ResourceExhausted) })
			eventually(t, "the first call", func() bool { return takes.Load() == 1 })
			time.Sleep(hold / 3)
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			a := doContext(ctx, conn, say)
			wg.Wait()
			equal(t, "charges", takes.Load(), 2)
			if timeout == soon {
				a.is(t, codes.OK)
				took(t, "the second", began, hold+wait)
				return
			}
			a.is(t, codes.DeadlineExceeded)
			took(t, "the second", began, hold+hold/3)
			equal(t, "refunds", store.refunds.Load(), 1)
			equal(t, "handlers run", s.calls.Load(), 1)
		})
	}
}

// Else what the limiter admitted meanwhile would be sent in one burst when the server's wait is over.
func TestLimiterIsNotAskedWhileTheServerRefuses(t *testing.T) {
	var takes atomic.Int64
	store := delaying(0)
	answers := store.take
	store.take = func(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
		takes.Add(1)
		return answers(ctx, b, out)
	}
	s := service{unary: func(context.Context, string) (string, error) {
		return "", refusing(codes.ResourceExhausted, time.Minute)
	}}
	conn := dial(t, s.start(t), pacing(limiter(t, store, core.Policy{core.PerEndpoint(core.PerMinute(60))}))...)
	do(t, conn, say).is(t, codes.ResourceExhausted)
	do(t, conn, say).is(t, codes.DeadlineExceeded)
	equal(t, "charges", takes.Load(), 1)
}

func TestClientsRequest(t *testing.T) {
	var w witness
	tenants := core.PerKey("tenant", core.ByHeader("X-Tenant"), core.PerHour(1))
	l := ticking(t, core.Policy{w.level(), core.PerIP(core.PerHour(1)), tenants})
	var s service
	addr := s.start(t)
	conn := dial(t, addr, pacing(l, grpclimit.WithMaxDelay(0))...)
	do(t, conn, say).is(t, codes.OK)
	do(t, conn, say).is(t, codes.OK) // no address: no level ip
	do(t, conn, say, "x-tenant", "a").is(t, codes.OK)
	do(t, conn, say, "x-tenant", "a").is(t, codes.DeadlineExceeded) // the test's own
	do(t, conn, say, "x-tenant", "b").is(t, codes.OK)
	end(t, open(t, conn, chat)).is(t, codes.OK)
	seen := w.take()
	for _, r := range seen {
		equal(t, "user", r.User, addr)
		equal(t, "address known", r.IP.IsValid(), false)
	}
	equal(t, "endpoint of the last", seen[len(seen)-1].Endpoint, chat)
	do(t, dial(t, addr, pacing(l, grpclimit.WithUser(func(context.Context) string { return "me" }))...), say).is(t, codes.OK)
	equal(t, "user", w.take()[0].User, "me")
	do(t, conn, "/grpc.health.v1.Health/Check").is(t, codes.Unimplemented)
	equal(t, "health checks seen", len(w.take()), 0)
}

func TestSkippedCallsOfAClientAreNotHeldBack(t *testing.T) {
	s := service{unary: func(context.Context, string) (string, error) { return "", refusing(codes.ResourceExhausted, time.Hour) }}
	l := ticking(t, core.Policy{core.Global(core.BlockAll)})
	for _, opt := range []grpclimit.Option{
		grpclimit.WithSkip(func(context.Context) bool { return true }),
		grpclimit.WithCost(func(context.Context) int64 { return 0 }),
		grpclimit.WithExempt("tierlimit.test.Echo"),
	} {
		conn := dial(t, s.start(t), pacing(l, opt)...)
		for range 2 {
			a := do(t, conn, say)
			equal(t, "message", a.err.Message(), "scripted")
			end(t, open(t, conn, chat)).is(t, codes.OK)
		}
	}
}

// A handler that makes calls has a context of its own RPC; options must not take that one's method
// for the called one.
func TestMethodThatClientOptionsSee(t *testing.T) {
	var back service
	var mu sync.Mutex
	var seen []string
	note := grpclimit.WithSkip(func(ctx context.Context) bool {
		method, _ := grpc.Method(ctx)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, method)
		if grpc.SetHeader(ctx, metadata.Pairs("own", "1")) == nil {
			t.Error("a client's option sets a header of a server")
		}
		return false
	})
	conn := dial(t, back.start(t), pacing(free(t), note)...)
	front := service{unary: func(ctx context.Context, _ string) (string, error) {
		a := doContext(ctx, conn, whisp)
		return a.text, grpc.SetHeader(ctx, metadata.Pairs("handler", "1"))
	}}
	a := do(t, dial(t, front.start(t)), say)
	a.is(t, codes.OK)
	equal(t, "headers", strings.Join(a.header.Get("handler"), "")+strings.Join(a.header.Get("own"), ""), "1")
	if !slices.Equal(seen, []string{whisp}) {
		t.Errorf("methods %v", seen)
	}
}

func TestClientOptionsOfTheCallStay(t *testing.T) {
	var s service
	conn := dial(t, s.start(t, behind(newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(100))}))...), pacing(free(t))...)
	a := do(t, conn, say) // which asks for header and trailer
	hasOnly(t, "header", a.header, hundred(1))
}

func TestClientInterceptorsWithoutAConnection(t *testing.T) {
	var w witness
	unary := grpclimit.UnaryClientInterceptor(ticking(t, core.Policy{w.level()}))
	invoked := 0
	err := unary(t.Context(), say, nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		invoked++
		return nil
	})
	equal(t, "error", err, nil)
	equal(t, "calls", invoked, 1)
	equal(t, "user", w.take()[0].User, "")
}
