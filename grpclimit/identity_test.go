package grpclimit_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

// strangers is a listener whose connections say that they come from elsewhere.
type strangers struct {
	net.Listener
	peer string
}

func (l strangers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return stranger{conn, l.peer}, err
}

type stranger struct {
	net.Conn
	peer string
}

func (s stranger) RemoteAddr() net.Addr { return address(s.peer) }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// startFor serves clients that come from peer.
func (s *service) startFor(t *testing.T, peer string, opts ...grpc.ServerOption) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.serve(t, strangers{l, peer}, opts...)
	return l.Addr().String()
}

const (
	xff = "x-forwarded-for"
	xri = "x-real-ip"
	fwd = "forwarded"
)

func TestAddressIsTheLastThatATrustedProxyVouchesFor(t *testing.T) {
	for _, row := range []struct {
		name    string
		trusted string
		reads   core.ForwardHeader
		peer    string
		md      []string
		want    string
	}{
		{"one line is read from the right", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff, "198.51.100.99, 192.168.1.50"}, "192.168.1.50"},
		{"so are two lines", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff, "198.51.100.99", xff, "192.168.1.50"}, "192.168.1.50"},
		{"and two lines in front of a trusted one", "10.0.0.0/24", core.XForwardedFor, "10.0.0.2:1", []string{xff, "198.51.100.99", xff, "192.168.1.50", xff, "10.0.0.7"}, "192.168.1.50"},
		{"garbage to the left does not matter", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff, "garbage, 192.168.1.50"}, "192.168.1.50"},
		{"garbage to the right does", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff, "192.168.1.50, garbage"}, "10.0.0.2"},
		{"all trusted is the leftmost", "10.0.0.0/8", core.XForwardedFor, "10.0.0.2:1", []string{xff, "10.1.1.1, 10.2.2.2"}, "10.1.1.1"},
		{"a gateway that appends its peer", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xff, "1.2.3.4, 198.51.100.7"}, "198.51.100.7"},
		{"an untrusted peer is itself", "10.0.0.2/32", core.XForwardedFor, "10.0.0.3:1", []string{xff, "192.168.1.50"}, "10.0.0.3"},
		{"a trusted peer without metadata is itself", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", nil, "10.0.0.2"},
		{"what it does not read is not read", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{xri, "192.168.1.50", fwd, "for=192.168.1.50"}, "10.0.0.2"},
		{"upper case is the same key", "10.0.0.2/32", core.XForwardedFor, "10.0.0.2:1", []string{"X-Forwarded-For", "192.168.1.50"}, "192.168.1.50"},
		{"x-real-ip from an untrusted peer, naming a trusted one", "8.8.8.8/32", core.XRealIP, "1.1.1.1:1", []string{xri, "8.8.8.8"}, "1.1.1.1"},
		{"x-real-ip from a trusted peer", "8.8.8.8/32", core.XRealIP, "8.8.8.8:1", []string{xri, "1.1.1.1"}, "1.1.1.1"},
		{"forwarded from a trusted peer", "10.0.0.2/32", core.Forwarded, "10.0.0.2:1", []string{fwd, "for=198.51.100.99", fwd, `for="[2001:db8::9]:4711";proto=https`}, "2001:db8::"},
		{"a 4-in-6 peer", "10.0.0.2/32", core.XForwardedFor, "[::ffff:10.0.0.2]:1", []string{xff, "192.168.1.50"}, "192.168.1.50"},
		{"a zoned peer", "10.0.0.2/32", core.XForwardedFor, "[fe80::1%eth0]:1", nil, "fe80::"},
		{"a peer without a port", "10.0.0.2/32", core.XForwardedFor, "192.0.2.10", nil, "192.0.2.10"},
		{"no peer", "10.0.0.2/32", core.XForwardedFor, "", []string{xff, "192.168.1.50"}, "none"},
		{"a peer without an address is not trusted", "10.0.0.2/32", core.XForwardedFor, "@", []string{xff, "192.168.1.50"}, "none"},
		{"a path is no address", "10.0.0.2/32", core.XForwardedFor, "/run/x.sock", nil, "none"},
	} {
		proxies, err := core.ParseProxies(row.trusted)
		if err != nil {
			t.Fatal(err)
		}
		var w witness
		l := newBench(t).limiter(t, core.Policy{w.level()})
		var s service
		conn := dial(t, s.startFor(t, row.peer, behind(l, grpclimit.WithProxies(proxies.Reading(row.reads)))...))
		do(t, conn, say, row.md...).is(t, codes.OK)
		end(t, openWith(t, conn, chat, row.md...)).is(t, codes.OK)
		for _, r := range w.take() {
			got := "none"
			if r.IP.IsValid() {
				got = r.IP.String()
			}
			equal(t, row.name, got, row.want)
		}
	}
}

func openWith(t *testing.T, conn *grpc.ClientConn, method string, md ...string) grpc.ClientStream {
	t.Helper()
	cs, err := conn.NewStream(metadata.AppendToOutgoingContext(t.Context(), md...), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestNobodyIsBelievedByDefault(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(10))})
	var s service
	conn := dial(t, s.start(t, behind(l)...))
	for i := range 20 {
		other := fmt.Sprintf("198.51.100.%d", i)
		want := codes.OK
		if i >= 10 {
			want = codes.ResourceExhausted
		}
		do(t, conn, say, xff, other, xri, other, fwd, "for="+other, "true-client-ip", other).is(t, want)
	}
}

func TestIPv6ClientCannotRotate(t *testing.T) {
	proxies, err := core.ParseProxies("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(10))})
	var s service
	conn := dial(t, s.start(t, behind(l, grpclimit.WithProxies(proxies))...))
	for i := range 30 {
		want := codes.OK
		if i >= 10 {
			want = codes.ResourceExhausted
		}
		do(t, conn, say, xff, fmt.Sprintf("2001:db8:1:2::%x", i+1)).is(t, want)
	}
	do(t, conn, say, xff, "2001:db8:1:3::1").is(t, codes.OK)
}

func TestNoAddress(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	memory := bufconn.Listen(1 << 16)
	inMemory := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return memory.DialContext(ctx) })
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(1)), core.PerEndpoint(core.PerHour(100))})
	var s service
	s.serve(t, unix, behind(l)...)
	s.serve(t, memory, behind(l)...)
	for _, conn := range []*grpc.ClientConn{dial(t, "unix:"+socket), dial(t, "passthrough:memory", inMemory)} {
		for range 3 {
			a := do(t, conn, say, xff, "192.0.2.1")
			a.is(t, codes.OK)
			if strings.Contains(a.header.Get("ratelimit")[0], `"ip"`) {
				t.Errorf("ratelimit %q, want no address in it", a.header.Get("ratelimit"))
			}
			end(t, open(t, conn, chat)).is(t, codes.OK)
		}
	}
	equal(t, "requests without an address", l.Stats().NoAddress, 12)
}

func TestEndpointIsTheFullMethod(t *testing.T) {
	var w witness
	l := newBench(t).limiter(
		t, core.Policy{w.level(), core.PerEndpoint(core.PerHour(2))},
		core.WithRoute(whisp, core.Policy{core.PerEndpoint(core.PerHour(1))}),
		core.WithRoute(gather, core.Exempt),
		core.WithRoute("/tierlimit.test.Echo/Misspelt", core.Policy{core.PerEndpoint(core.PerHour(1))}),
	)
	var s service
	conn := dial(t, s.start(t, behind(l)...))
	for method, admits := range map[string]int{say: 2, whisp: 1} {
		for i := range 3 {
			want := codes.OK
			if i >= admits {
				want = codes.ResourceExhausted
			}
			do(t, conn, method).is(t, want)
		}
	}
	for range 5 {
		a := end(t, open(t, conn, gather))
		a.is(t, codes.OK)
		hasOnly(t, "trailer of an exempt route", a.trailer, nil)
	}
	end(t, open(t, conn, chat)).is(t, codes.OK)
	for _, r := range w.take() {
		if !slices.Contains([]string{say, whisp, chat}, r.Endpoint) {
			t.Errorf("endpoint %q", r.Endpoint)
		}
	}
	equal(t, "routes not seen", strings.Join(l.UnseenRoutes(), " "), "/tierlimit.test.Echo/Misspelt")
}

func TestUnknownMethodsAreNotCharged(t *testing.T) {
	b := newBench(t)
	l := b.limiter(t, core.Policy{core.PerIP(core.PerHour(1))})
	var s service
	conn := dial(t, s.start(t, behind(l)...))
	for i := range 5 {
		a := do(t, conn, fmt.Sprintf("/tierlimit.test.Echo/Random%d", i))
		a.is(t, codes.Unimplemented)
		hasOnly(t, "trailer", a.trailer, nil)
		end(t, open(t, conn, fmt.Sprintf("/other.Service/Random%d", i))).is(t, codes.Unimplemented)
	}
	equal(t, "buckets", b.store.Stats().Entries, 0)
	do(t, conn, say).is(t, codes.OK)
}

func TestHealthAndReflectionAreExempt(t *testing.T) {
	b := newBench(t)
	l := b.limiter(t, core.Policy{core.Global(core.BlockAll)})
	var s service
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opts := append(behind(l), grpc.WaitForHandlers(true))
	server := grpc.NewServer(opts...)
	server.RegisterService(s.desc(), &s)
	healthpb.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	go func() { _ = server.Serve(lis) }()
	defer server.Stop()
	conn := dial(t, lis.Addr().String())
	do(t, conn, say).is(t, codes.ResourceExhausted)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	checks := healthpb.NewHealthClient(conn)
	if _, err := checks.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := checks.List(ctx, &healthpb.HealthListRequest{}); err != nil {
		t.Error(err)
	}
	watching, err := checks.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watching.Recv(); err != nil {
		t.Error(err)
	}
	for _, method := range []string{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"} {
		cs, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			t.Fatal(err)
		}
		request := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}
		if err := cs.SendMsg(request); err != nil {
			t.Fatal(err)
		}
		if err := cs.RecvMsg(new(reflectionpb.ServerReflectionResponse)); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestWithExemptReplacesTheDefault(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.Global(core.BlockAll)})
	handler := func(context.Context, any) (any, error) { return 1, nil }
	for _, row := range []struct {
		opts   []grpclimit.Option
		exempt []string
	}{
		{nil, []string{"/grpc.health.v1.Health/Check"}},
		{[]grpclimit.Option{grpclimit.WithExempt()}, nil},
		{[]grpclimit.Option{grpclimit.WithExempt("tierlimit.test.Echo")}, []string{say}},
		{[]grpclimit.Option{grpclimit.WithExempt("tierlimit.test.Echo", "grpc.health.v1.Health")}, []string{say, "/grpc.health.v1.Health/Check"}},
	} {
		unary := grpclimit.UnaryServerInterceptor(l, row.opts...)
		for _, method := range []string{say, "/grpc.health.v1.Health/Check", "/grpc.health.v1.Healthy/Check", "/tierlimit.test.Echo", "nonsense", "/", ""} {
			_, err := unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, handler)
			equal(t, fmt.Sprintf("%v exempts %q", row.exempt, method), err == nil, slices.Contains(row.exempt, method))
		}
	}
}

func TestUsersKeysCostsAndSkips(t *testing.T) {
	value := func(ctx context.Context, name string) string {
		return strings.Join(metadata.ValueFromIncomingContext(ctx, name), "")
	}
	var w witness
	l := newBench(t).limiter(t, core.Policy{
		w.level(), core.PerUser(core.PerHour(10)), core.PerKey("tenant", core.Provided, core.PerHour(1)),
		core.PerKey("region", core.ByHeader("X-Region"), core.PerHour(1)),
	})
	var s service
	conn := dial(t, s.start(t, behind(
		l,
		grpclimit.WithUser(func(ctx context.Context) string { return value(ctx, "user") }),
		grpclimit.WithKey("tenant", func(ctx context.Context) (string, bool) { v := value(ctx, "tenant"); return v, v != "none" }),
		grpclimit.WithCost(func(ctx context.Context) int64 { return int64(len(value(ctx, "cost"))) }),
		grpclimit.WithSkip(func(ctx context.Context) bool {
			method, ok := grpc.Method(ctx)
			return !ok || method == whisp
		}),
	)...))
	call := func(method string, want codes.Code, md ...string) {
		t.Helper()
		do(t, conn, method, append(md, "cost", "1")...).is(t, want)
	}
	call(say, codes.OK, "user", "ann")
	call(say, codes.OK, "tenant", "a")
	call(say, codes.ResourceExhausted, "tenant", "a")
	call(whisp, codes.OK, "tenant", "a")
	call(say, codes.OK, "tenant", "b")
	call(say, codes.OK, "tenant", "none")
	call(say, codes.OK, "tenant", "none")
	call(say, codes.OK, "x-region", "eu")
	call(say, codes.ResourceExhausted, "x-region", "eu")
	w.take()
	a := do(t, conn, say, "user", "ann") // costs nothing
	a.is(t, codes.OK)
	hasOnly(t, "header", a.header, nil)
	equal(t, "requests seen", len(w.take()), 0)
	do(t, conn, say, "user", "ann", "cost", "123456789").is(t, codes.OK)
	do(t, conn, say, "user", "ann", "cost", "1").is(t, codes.ResourceExhausted)
	w.take()
	do(t, conn, say, "user", "bob", "cost", "12").is(t, codes.OK)
	if got := w.take(); len(got) != 1 || got[0].User != "bob" || got[0].Cost != 2 || got[0].Endpoint != say || got[0].IP != loopback {
		t.Errorf("the request is %+v", got)
	}
}

func TestWithPolicyAddsLevels(t *testing.T) {
	b := newBench(t)
	l := b.limiter(t, core.Policy{core.PerIP(core.PerHour(3))})
	var s service
	conn := dial(t, s.start(t, append(behind(l), behind(l, grpclimit.WithPolicy(core.Policy{core.PerEndpoint(core.PerHour(2))}))...)...))
	do(t, conn, say).is(t, codes.OK)
	do(t, conn, say).is(t, codes.OK)
	do(t, conn, say).is(t, codes.ResourceExhausted)
	equal(t, "units left", left(l, say), 1)
	do(t, conn, whisp).is(t, codes.OK)
	do(t, conn, whisp).is(t, codes.ResourceExhausted)
}
