package core_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func ips(prefixes ...string) (list core.List) {
	for _, p := range prefixes {
		list.IPs = append(list.IPs, netip.MustParsePrefix(p))
	}
	return list
}

// thousand is a long list that the typical request is not on.
func thousand() (list core.List) {
	for i := range 1000 {
		a, b := byte(i>>8), byte(i)
		list.IPs = append(list.IPs, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, a, b}), 24), netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0, 1, a, b}), 48))
		list.Users = append(list.Users, fmt.Sprint("user", i))
		list.Endpoints = append(list.Endpoints, fmt.Sprint("GET /", i), fmt.Sprint("* /any/", i))
	}
	return list
}

func users(names ...string) core.List { return core.List{Users: names} }

func endpoints(templates ...string) core.List { return core.List{Endpoints: templates} }

// everyLevel refuses each request that it counts.
func everyLevel() core.Policy {
	return core.Policy{core.PerIP(core.BlockAll), core.PerUser(core.BlockAll), core.PerEndpoint(core.BlockAll), core.Global(core.BlockAll)}
}

// isAllowListed wants a decision that no level had a part in.
func isAllowListed(t *testing.T, what string, d core.Decision) {
	t.Helper()
	if !d.Allowed || d.Reason != core.None || d.Source != core.FromExempt || d.Level != "" || d.Err != nil || d.Status() != 200 ||
		d.Problem() != nil || len(d.Levels()) != 0 || len(lines(d)) != 0 {
		t.Errorf("%s: %+v with headers %q, want it allowed and uncounted", what, d, lines(d))
	}
}

func isDenyListed(t *testing.T, what string, d core.Decision) {
	t.Helper()
	const problem = `{"type":"about:blank","title":"Forbidden","status":403,"detail":"The request is on a deny list; waiting does not help."}`
	if d.Allowed || d.Reason != core.Listed || d.Source != core.FromExempt || d.Level != "" || d.RetryAfter != 0 || d.Err != nil ||
		d.Status() != 403 || string(d.Problem()) != problem || len(d.Levels()) != 0 || len(lines(d)) != 0 {
		t.Errorf("%s: %+v with headers %q and body %s, want it refused as listed", what, d, lines(d), d.Problem())
	}
}

// Each list is asked about the same requests: those that it names and those that are near.
func TestListsNameRequests(t *testing.T) {
	v4mapped := core.Request{IP: netip.MustParseAddr("::ffff:192.0.2.7"), User: "u", Endpoint: "GET /"}
	for name, row := range map[string]struct {
		list    core.List
		on, off []core.Request
	}{
		"addresses": {
			ips("192.0.2.0/24", "198.51.100.7/32"),
			[]core.Request{from("192.0.2.0"), from("192.0.2.255"), from("198.51.100.7"), v4mapped, on("192.0.2.9", "u", "GET /")},
			[]core.Request{from("192.0.1.255"), from("192.0.3.0"), from("198.51.100.6"), from("198.51.100.8"), user("192.0.2.1"), {}},
		},
		"4-in-6 prefix": {ips("::ffff:192.0.2.0/120"), []core.Request{from("192.0.2.7"), v4mapped}, []core.Request{from("192.0.3.7")}},
		"the whole IPv6 address": {
			ips("2001:db8::7/128"),
			[]core.Request{from("2001:db8::7"), from("2001:db8::7%eth0")},
			[]core.Request{from("2001:db8::8"), from("2001:db8::")},
		},
		"everybody": {ips("0.0.0.0/0"), []core.Request{from("192.0.2.7"), v4mapped}, []core.Request{from("2001:db8::7"), {}}},
		"users": {
			users("ann", "Bob", "ann"),
			[]core.Request{user("ann"), user("Bob"), on("192.0.2.1", "ann", "GET /")},
			[]core.Request{user("Ann"), user("bob"), user("ann "), user("an"), {}},
		},
		"endpoints": {
			endpoints("POST /items/:id", "GET /files/{path...}", "* /admin/:who", "/shop.v1.Items/Get"),
			[]core.Request{at("POST /items/{id}"), at("POST /items/:id"), at("GET /files/*path"), at("GET /admin/{who}"), at("* /admin/:who"), at("/shop.v1.Items/Get")},
			[]core.Request{at("GET /items/:id"), at("POST /items/:name"), at("POST /items/7"), at("GET /admin"), at("/shop.v1.Items/Put"), at(""), {}},
		},
		"any of the three": {
			core.List{IPs: ips("192.0.2.1/32").IPs, Users: []string{"ann"}, Endpoints: []string{"GET /a"}},
			[]core.Request{from("192.0.2.1"), user("ann"), {Endpoint: "GET /a"}, on("192.0.2.1", "bob", "GET /b")},
			[]core.Request{on("192.0.2.2", "bob", "GET /b")},
		},
	} {
		allows, denies := scripted(), scripted()
		allowing := limiter(t, allows, everyLevel(), core.WithAllowList(row.list))
		denying := limiter(t, denies, core.Exempt, core.WithDenyList(row.list))
		for _, r := range row.on {
			isAllowListed(t, name, allowing.Check(ctx, r))
			isAllowListed(t, name, allowing.Peek(ctx, r))
			isDenyListed(t, name, denying.Check(ctx, r))
			isDenyListed(t, name, denying.Peek(ctx, r))
		}
		if asked := append(allows.asked(), denies.asked()...); len(asked) != 0 {
			t.Errorf("%s: the store was asked %q about what the lists decide", name, asked)
		}
		for _, r := range row.off {
			if d := allowing.Check(ctx, r); d.Allowed {
				t.Errorf("%s: %+v is allowed, but is not on the list", name, r)
			}
			if d := denying.Check(ctx, r); !d.Allowed {
				t.Errorf("%s: %+v is refused, but is not on the list", name, r)
			}
		}
	}
}

func TestListsIgnoreHowAddressesAreCounted(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(1))}, core.WithIPv6Prefix(32), core.WithKeyHash(make([]byte, 16)), core.WithDenyList(ips("2001:db8:1::/48")))
	isDenyListed(t, "inside", l.Check(ctx, from("2001:db8:1::9")))
	if d := l.Check(ctx, from("2001:db8:2::9")); !d.Allowed || d.Remaining != 0 {
		t.Errorf("a neighbour in the same /32: %+v", d)
	}
	if d := l.Check(ctx, from("2001:db8:3::9")); d.Allowed || d.Reason != core.Quota {
		t.Errorf("another neighbour: %+v, want them counted together", d)
	}
}

func TestDenyGoesBeforeAllow(t *testing.T) {
	l, _ := limiting(t, everyLevel(), core.WithAllowList(ips("192.0.2.1/32")), core.WithDenyList(ips("192.0.2.0/24")))
	isDenyListed(t, "on both", l.Check(ctx, from("192.0.2.1")))
}

func TestListsGoBeforeRoutes(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(1))},
		core.WithRoute("GET /free", core.Exempt), core.WithRoute("GET /off", core.Policy{core.PerIP(core.BlockAll)}),
		core.WithDenyList(users("eve")), core.WithAllowList(users("ann")))
	isDenyListed(t, "an exempt route", l.Check(ctx, on("192.0.2.1", "eve", "GET /free")))
	isAllowListed(t, "a blocked route", l.Check(ctx, on("192.0.2.1", "ann", "GET /off")))
	if unseen := l.UnseenRoutes(); len(unseen) != 0 {
		t.Errorf("routes %q count as unseen, but listed requests have met them", unseen)
	}
}
