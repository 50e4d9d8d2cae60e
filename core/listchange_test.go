package core_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func TestListsChangeAtRunTime(t *testing.T) {
	policy := core.Policy{core.PerUser(core.PerHour(1))}
	l, _ := limiting(t, policy, core.WithAllowList(users("ann")), core.WithDenyList(users("eve")))
	change := func(opts ...core.Option) {
		t.Helper()
		if err := l.SetPolicy(policy, opts...); err != nil {
			t.Fatal(err)
		}
	}
	change()
	isAllowListed(t, "left out", l.Check(ctx, user("ann")))
	isDenyListed(t, "left out", l.Check(ctx, user("eve")))
	change(core.WithDenyList(users("mallory")))
	isAllowListed(t, "the other replaced", l.Check(ctx, user("ann")))
	isDenyListed(t, "replaced", l.Check(ctx, user("mallory")))
	if d := l.Check(ctx, user("eve")); !d.Allowed || d.Level != "user" {
		t.Errorf("taken off the deny list: %+v", d)
	}
	if err := l.SetPolicy(policy, core.WithDenyList(users("ann")), core.WithAllowList(users(""))); err == nil {
		t.Error("an empty user gave no error")
	}
	isAllowListed(t, "after an error", l.Check(ctx, user("ann")))
	change(core.WithAllowList(core.List{}), core.WithDenyList(core.List{}))
	for _, name := range []string{"ann", "mallory"} {
		if d := l.Check(ctx, user(name)); !d.Allowed || d.Level != "user" {
			t.Errorf("%s, on a list that was taken away: %+v", name, d)
		}
	}
}

func TestTheLastOfTwoListsHolds(t *testing.T) {
	l, _ := limiting(t, core.Exempt, core.WithDenyList(users("ann")), core.WithDenyList(users("eve")))
	isDenyListed(t, "the last", l.Check(ctx, user("eve")))
	isAllowListed(t, "the first", l.Check(ctx, user("ann")))
}

func TestAListIsCopied(t *testing.T) {
	list := core.List{IPs: ips("192.0.2.1/32").IPs, Users: []string{"eve"}, Endpoints: []string{"GET /a"}}
	l, _ := limiting(t, core.Exempt, core.WithDenyList(list))
	list.IPs[0], list.Users[0], list.Endpoints[0] = netip.MustParsePrefix("192.0.2.2/32"), "ann", "GET /b"
	isDenyListed(t, "address", l.Check(ctx, from("192.0.2.1")))
	isDenyListed(t, "user", l.Check(ctx, user("eve")))
	isDenyListed(t, "endpoint", l.Check(ctx, at("GET /a")))
	isAllowListed(t, "none", l.Check(ctx, on("192.0.2.2", "ann", "GET /b")))
}

func TestDerivedLimitersHaveTheLists(t *testing.T) {
	policy := core.Policy{core.PerUser(core.PerHour(1))}
	l, _ := limiting(t, policy, core.WithAllowList(users("ann")), core.WithDenyList(users("eve")))
	derived, err := l.With(core.Policy{core.PerUser(core.BlockAll)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetPolicy(policy, core.WithAllowList(core.List{}), core.WithDenyList(core.List{})); err != nil {
		t.Fatal(err)
	}
	isAllowListed(t, "derived", derived.Check(ctx, user("ann")))
	isDenyListed(t, "derived", derived.Check(ctx, user("eve")))
}

// An inner limiter's deny list undoes what the outer one has charged; its allow list exempts from
// itself alone.
func TestListsOfStackedLimiters(t *testing.T) {
	outer, _ := limiting(t, core.Policy{core.PerUser(core.PerMinute(5))})
	inner, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(1))}, core.WithName("inner"), core.WithDenyList(users("eve")), core.WithAllowList(users("ann")))
	both := func(name string) core.Decision {
		within, _ := outer.Admit(ctx, user(name), time.Second)
		within, d := inner.Admit(within, user(name), time.Second)
		if kept, ok := core.FromContext(within); !ok || kept.Reason != d.Reason {
			t.Errorf("%s: the context has %+v, want %+v", name, kept, d)
		}
		if _, again := outer.Admit(within, user(name), time.Second); again.Allowed != d.Allowed || again.Reason != d.Reason {
			t.Errorf("%s: the outer limiter, asked again, says %+v", name, again)
		}
		return d
	}
	if d := both("eve"); d.Allowed || d.Reason != core.Listed || strings.Contains(strings.Join(lines(d), "\n"), "Retry-After") {
		t.Errorf("%+v with headers %q", d, lines(d))
	}
	if got := left(t, outer, user("eve"), "user"); got != 5 {
		t.Errorf("%d left at the outer limiter, want its charge given back", got)
	}
	for range 3 {
		if d := both("ann"); !d.Allowed {
			t.Errorf("%+v", d)
		}
	}
	if got := left(t, outer, user("ann"), "user"); got != 2 {
		t.Errorf("%d left at the outer limiter, want 2", got)
	}
}

func TestWrongListsNameTheField(t *testing.T) {
	for want, list := range map[string]core.List{
		"ips[1] is 10.1.2.3/8, want 10.0.0.0/8, or 10.1.2.3/32 for the one address":                             ips("10.0.0.0/8", "10.1.2.3/8"),
		"ips[0] is ::ffff:10.1.2.3/104, want 10.0.0.0/8, or 10.1.2.3/32 for the one address":                    ips("::ffff:10.1.2.3/104"),
		"ips[0] is ::ffff:0.0.0.0/90, want at least 96 bits for an IPv4 address written as IPv6, or plain IPv4": ips("::ffff:0.0.0.0/90"),
		"ips[0] is 2001:db8::1/64, want 2001:db8::/64, or 2001:db8::1/128 for the one address":                  ips("2001:db8::1/64"),
		"ips[0] is invalid Prefix, want an address with a length, such as 10.0.0.0/8":                           {IPs: []netip.Prefix{{}}},
		`users[1] is "", want a user`: users("ann", ""),
		`endpoints[1]: endpoint is "/admin", want "METHOD /path", "* /path" for every method, or a gRPC full method`: endpoints("GET /", "/admin"),
	} {
		for name, opt := range map[string]core.Option{"allow list": core.WithAllowList(list), "deny list": core.WithDenyList(list)} {
			if _, err := core.New(scripted(), core.Exempt, opt); err == nil || !strings.HasPrefix(err.Error(), "core: "+name+": "+want) {
				t.Errorf("%s: error is %v, want %s", name, err, want)
			}
		}
	}
}

func TestListedEndpointsThatNobodyMeetsAreTold(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(9))}, core.WithRoute("GET /a", core.Exempt),
		core.WithAllowList(endpoints("GET /a", "GET /b/:id", "* /c")),
		core.WithDenyList(core.List{Users: []string{"eve"}, Endpoints: []string{"GET /d", "GET /b/{id}"}}))
	equal(t, "before any request", l.UnseenRoutes(), []string{"* /c", "GET /a", "GET /b/{id}", "GET /d"})
	l.Check(ctx, core.Request{User: "eve", Endpoint: "PUT /c"})
	l.Check(ctx, core.Request{User: "eve", Endpoint: "GET /d"})
	l.Check(ctx, core.Request{User: "eve", Endpoint: "GET /x"})
	equal(t, "after two of them", l.UnseenRoutes(), []string{"GET /a", "GET /b/{id}"})
	if err := l.SetPolicy(core.Exempt, core.WithDenyList(endpoints("GET /d"))); err != nil {
		t.Fatal(err)
	}
	equal(t, "after a change of one list", l.UnseenRoutes(), []string{"GET /a", "GET /b/{id}", "GET /d"})
	l.Check(ctx, at("GET /b/:id"))
	l.Check(ctx, at("GET /a"))
	l.Check(ctx, at("GET /d"))
	equal(t, "at the end", l.UnseenRoutes(), nil)
}
