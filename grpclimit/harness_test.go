package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/grpclimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon bounds what takes no time unless something is broken.
const soon = 10 * time.Second

// The methods of the test service. Each message is a string.
const (
	say    = "/tierlimit.test.Echo/Say"
	whisp  = "/tierlimit.test.Echo/Whisper"
	chat   = "/tierlimit.test.Echo/Chat"
	watch  = "/tierlimit.test.Echo/Watch"
	gather = "/tierlimit.test.Echo/Gather"
)

// service is what a test makes of it; what it leaves out answers "ok" or echoes.
type service struct {
	unary  func(ctx context.Context, text string) (string, error)
	stream func(ss grpc.ServerStream) error
	calls  atomic.Int64 // of handlers
}

func (s *service) desc() *grpc.ServiceDesc {
	method := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, dec func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.StringValue)
			if err := dec(in); err != nil {
				return nil, err
			}
			handler := func(ctx context.Context, req any) (any, error) {
				s.calls.Add(1)
				if s.unary == nil {
					return wrapperspb.String("ok"), nil
				}
				text, err := s.unary(ctx, req.(*wrapperspb.StringValue).GetValue())
				return wrapperspb.String(text), err
			}
			if chain == nil {
				return handler(ctx, in)
			}
			return chain(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/tierlimit.test.Echo/" + name}, handler)
		}}
	}
	handle := func(_ any, ss grpc.ServerStream) error {
		s.calls.Add(1)
		if s.stream == nil {
			return echo(ss)
		}
		return s.stream(ss)
	}
	return &grpc.ServiceDesc{
		ServiceName: "tierlimit.test.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{method("Say"), method("Whisper")},
		Streams: []grpc.StreamDesc{
			{StreamName: "Chat", Handler: handle, ServerStreams: true, ClientStreams: true},
			{StreamName: "Watch", Handler: handle, ServerStreams: true},
			{StreamName: "Gather", Handler: handle, ClientStreams: true},
		},
	}
}

func echo(ss grpc.ServerStream) error {
	for {
		m := new(wrapperspb.StringValue)
		if err := ss.RecvMsg(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := ss.SendMsg(m); err != nil {
			return err
		}
	}
}

// start serves on loopback and returns where.
func (s *service) start(t *testing.T, opts ...grpc.ServerOption) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.serve(t, l, opts...)
	return l.Addr().String()
}

func (s *service) serve(t *testing.T, l net.Listener, opts ...grpc.ServerOption) *grpc.Server {
	t.Helper()
	server := grpc.NewServer(append(opts, grpc.WaitForHandlers(true))...)
	server.RegisterService(s.desc(), s)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		// A server that is stopped before it began says so.
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("Serve: %v", err)
		}
	})
	return server
}

// behind is a server's options with one limiter on everything.
func behind(l *core.Limiter, opts ...grpclimit.Option) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(grpclimit.UnaryServerInterceptor(l, opts...)),
		grpc.ChainStreamInterceptor(grpclimit.StreamServerInterceptor(l, opts...)),
	}
}

func dial(t *testing.T, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// answer is what a client got.
type answer struct {
	text            string
	err             *status.Status
	header, trailer metadata.MD
}

// do makes one unary call. md is alternating names and values.
func do(t *testing.T, conn *grpc.ClientConn, method string, md ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), md...), 2*soon)
	defer cancel()
	return doContext(ctx, conn, method)
}

func doContext(ctx context.Context, conn *grpc.ClientConn, method string) (a answer) {
	reply := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, method, wrapperspb.String("hello"), reply, grpc.Header(&a.header), grpc.Trailer(&a.trailer))
	a.text, a.err = reply.GetValue(), status.Convert(err)
	return a
}

func (a answer) is(t *testing.T, code codes.Code) {
	t.Helper()
	if a.err.Code() != code {
		t.Fatalf("answered %v %q, want %v", a.err.Code(), a.err.Message(), code)
	}
}

// open opens a stream that ends with the test.
func open(t *testing.T, conn *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	t.Cleanup(cancel)
	cs, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func send(t *testing.T, cs grpc.ClientStream, text string) {
	t.Helper()
	if err := cs.SendMsg(wrapperspb.String(text)); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func recv(cs grpc.ClientStream) (string, error) {
	m := new(wrapperspb.StringValue)
	err := cs.RecvMsg(m)
	return m.GetValue(), err
}

// exchange has a message echoed.
func exchange(t *testing.T, cs grpc.ClientStream) {
	t.Helper()
	send(t, cs, "x")
	if text, err := recv(cs); err != nil || text != "x" {
		t.Fatalf("echoed %q, %v", text, err)
	}
}

// end closes the client's side and reads what is left.
func end(t *testing.T, cs grpc.ClientStream) answer {
	t.Helper()
	_ = cs.CloseSend()
	for {
		_, err := recv(cs)
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		header, _ := cs.Header()
		return answer{err: status.Convert(err), header: header, trailer: cs.Trailer()}
	}
}

// bench is an empty store whose clock stands still.
type bench struct {
	clock *storetest.Clock
	store *memstore.Store
}

func newBench(t *testing.T) *bench {
	b := &bench{clock: new(storetest.Clock)}
	b.store = memstore.New(memstore.WithClock(b.clock.Now))
	t.Cleanup(func() { _ = b.store.Close() })
	return b
}

func (b *bench) limiter(t *testing.T, p core.Policy, opts ...core.Option) *core.Limiter {
	t.Helper()
	return limiter(t, b.store, p, opts...)
}

func limiter(t *testing.T, s core.Store, p core.Policy, opts ...core.Option) *core.Limiter {
	t.Helper()
	l, err := core.New(s, p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// left is how many units a level of the limiter has, for RPCs from loopback.
func left(l *core.Limiter, method string) int64 {
	return l.Peek(context.Background(), core.Request{IP: loopback, Endpoint: method}).Remaining
}

// eventually waits for what follows an answer, such as a refund.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come: %s", what)
		}
	}
}

// scripted is a store that says what the test wants.
type scripted struct {
	local   bool // it claims to answer by itself
	take    func(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error
	refunds atomic.Int64
}

func (s *scripted) Take(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	return s.take(ctx, b, out)
}

func (s *scripted) Peek(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	return s.take(ctx, b, out)
}

func (s *scripted) Refund(context.Context, []core.Bucket, []core.Outcome) error {
	s.refunds.Add(1)
	return nil
}

func (s *scripted) Debit(context.Context, []core.Bucket) error { return nil }
func (s *scripted) Reset(context.Context, []core.Bucket) error { return nil }
func (s *scripted) Partition(string) string                    { return "" }
func (s *scripted) Close() error                               { return nil }

func (s *scripted) Traits() core.Traits {
	return core.Traits{Algorithms: []core.Algorithm{core.TokenBucket}, Local: s.local}
}

// delaying admits everything after a delay.
func delaying(delay time.Duration) *scripted {
	return &scripted{local: true, take: func(_ context.Context, _ []core.Bucket, out []core.Outcome) error {
		for i := range out {
			out[i] = core.Outcome{Admits: true, Charged: true, Remaining: 5, ResetAfter: time.Second, Delay: delay, Source: core.FromShared}
		}
		return nil
	}}
}

// failing never answers.
func failing(err error) *scripted {
	return &scripted{take: func(context.Context, []core.Bucket, []core.Outcome) error { return err }}
}

// witness notes each request that a limiter is asked about, by a level that counts nothing.
type witness struct {
	mu   sync.Mutex
	seen []core.Request
}

func (w *witness) level() core.Level {
	return core.PerKey("witness", func(r *core.Request) (string, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, core.Request{IP: r.IP, User: r.User, Endpoint: r.Endpoint, Cost: r.Cost})
		return "", false
	}, core.Unlimited)
}

// take empties the witness.
func (w *witness) take() []core.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// detail finds the one detail of a kind.
func detail[D any](t *testing.T, s *status.Status) (d D, ok bool) {
	t.Helper()
	found := 0
	for _, any := range s.Details() {
		if one, is := any.(D); is {
			d, found = one, found+1
		}
	}
	if found > 1 {
		t.Errorf("%T is there %d times", d, found)
	}
	return d, found == 1
}

// retryDelay is that of RetryInfo, 0 for none.
func retryDelay(t *testing.T, s *status.Status) time.Duration {
	t.Helper()
	info, _ := detail[*errdetails.RetryInfo](t, s)
	return info.GetRetryDelay().AsDuration()
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// hasOnly checks that metadata has the given lines and none of our other ones.
func hasOnly(t *testing.T, where string, md metadata.MD, want map[string]string) {
	t.Helper()
	for _, name := range []string{"ratelimit", "ratelimit-policy", "retry-after", "grpc-retry-pushback-ms"} {
		var lines []string
		if v, ok := want[name]; ok {
			lines = []string{v}
		}
		if got := md.Get(name); !slices.Equal(got, lines) {
			t.Errorf("%s has %s %q, want %q", where, name, got, lines)
		}
	}
}
