package grpclimit_test

import (
	"context"
	"net/netip"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

func lists() map[string]core.List {
	return map[string]core.List{
		"address":  {IPs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		"user":     {Users: []string{"ann"}},
		"endpoint": {Endpoints: []string{say, chat}},
	}
}

func asAnn() grpclimit.Option {
	return grpclimit.WithUser(func(context.Context) string { return "ann" })
}

func TestAllowListedAreNotCounted(t *testing.T) {
	for name, list := range lists() {
		b := newBench(t)
		l := b.limiter(t, core.Policy{core.PerIP(core.PerHour(1)), core.Global(core.PerHour(1))}, core.WithAllowList(list))
		var s service
		conn := dial(t, s.start(t, behind(l, asAnn(), grpclimit.WithPerMessage())...))
		for range 3 {
			a := do(t, conn, say)
			a.is(t, codes.OK)
			hasOnly(t, name+": header", a.header, nil)
			cs := open(t, conn, chat)
			exchange(t, cs)
			exchange(t, cs)
			a = end(t, cs)
			a.is(t, codes.OK)
			hasOnly(t, name+": trailer", a.trailer, nil)
		}
		equal(t, name+": buckets", b.store.Stats().Entries, 0)
	}
}

func TestDenyListedAreRefusedForGood(t *testing.T) {
	for name, list := range lists() {
		b := newBench(t)
		l := b.limiter(t, core.Policy{core.PerIP(core.PerHour(1))}, core.WithDenyList(list))
		var s service
		conn := dial(t, s.start(t, behind(l, asAnn())...), retrying("PERMISSION_DENIED"))
		for _, a := range []answer{do(t, conn, say), end(t, open(t, conn, chat))} {
			a.is(t, codes.PermissionDenied)
			equal(t, "message", a.err.Message(), "call is on the deny list")
			want := &errdetails.ErrorInfo{Reason: "DENY_LISTED", Domain: "tierlimit", Metadata: map[string]string{"reason": "listed"}}
			if details := a.err.Details(); len(details) != 1 || !proto.Equal(details[0].(proto.Message), want) {
				t.Errorf("%s: details are %v, want %v alone", name, details, want)
			}
			hasOnly(t, name+": header", a.header, nil)
			hasOnly(t, name+": trailer", a.trailer, map[string]string{"grpc-retry-pushback-ms": "-1"})
		}
		equal(t, name+": handlers run", s.calls.Load(), 0)
		equal(t, name+": buckets", b.store.Stats().Entries, 0)
	}
}

// A stream that is open when its user comes onto the list ends with the next message.
func TestDenyListReachesOpenStreams(t *testing.T) {
	policy := core.Policy{core.PerIP(core.PerHour(100))}
	l := newBench(t).limiter(t, policy)
	var s service
	cs := open(t, dial(t, s.start(t, behind(l, asAnn(), grpclimit.WithPerMessage())...)), chat)
	exchange(t, cs)
	if err := l.SetPolicy(policy, core.WithDenyList(core.List{Users: []string{"ann"}})); err != nil {
		t.Fatal(err)
	}
	send(t, cs, "again")
	end(t, cs).is(t, codes.PermissionDenied)
}

func TestDenyListedCallsAreNotSent(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerEndpoint(core.PerHour(9))}, core.WithDenyList(core.List{Endpoints: []string{say}}))
	var s service
	conn := dial(t, s.start(t), pacing(l)...)
	do(t, conn, say).is(t, codes.PermissionDenied)
	equal(t, "handlers run", s.calls.Load(), 0)
	end(t, open(t, conn, chat)).is(t, codes.OK)
}
