package policyfile_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// badLists are mistakes in allow and deny.
var badLists = []bad{
	{"allow:\n" + base, `1:7: allow: got nothing, want a mapping such as {ips: [10.0.0.0/8], users: [ada], endpoints: ["GET /healthz"]}`},
	{"deny: [10.0.0.1]\n" + base, `1:7: deny: got a list, want a mapping such as {ips: [10.0.0.0/8], users: [ada], endpoints: ["GET /healthz"]}`},
	{"deny: {ip: [10.0.0.1]}\n" + base, "1:8: deny.ip: unknown field, want one of ips, users, endpoints"},
	{"deny: {ips: []}\ndeny: {}\n" + base, "2:1: deny: given twice, first at 1:1, want it once"},
	{"deny: {ips: 10.0.0.1}\n" + base, `1:13: deny.ips: got "10.0.0.1", want a list, each item an address without zone or a prefix such as 10.0.0.0/8`},
	{"deny: {ips: [10.0.0.1, 10]}\n" + base, "1:24: deny.ips[1]: got 10, want an address without zone or a prefix such as 10.0.0.0/8"},
	{"deny: {ips: [10.0.0]}\n" + base, `1:14: deny.ips[0]: got "10.0.0", want an address without zone or a prefix such as 10.0.0.0/8: ParseAddr("10.0.0"): IPv4 address too short`},
	{"deny: {ips: [10.0.0.0/33]}\n" + base, `1:14: deny.ips[0]: got "10.0.0.0/33", want an address without zone or a prefix such as 10.0.0.0/8: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range`},
	{"deny: {ips: ['fe80::1%eth0']}\n" + base, `1:14: deny.ips[0]: got "fe80::1%eth0", want an address without zone or a prefix such as 10.0.0.0/8: zone given`},
	{"allow: {ips: [10.1.2.3/8]}\n" + base, "1:15: allow.ips[0]: got 10.1.2.3/8, want 10.0.0.0/8, or 10.1.2.3/32 for the one address"},
	{"allow: {users: [ada, '']}\n" + base, `1:22: allow.users[1]: got "", want a user`},
	{"allow: {users: [7, true]}\n" + base, "1:17: allow.users[0]: got 7, want a user, in quotes where YAML takes it for no text\n" +
		"1:20: allow.users[1]: got true, want a user, in quotes where YAML takes it for no text"},
	{"allow: {users: ada}\n" + base, `1:16: allow.users: got "ada", want a list, each item a user, in quotes where YAML takes it for no text`},
	{"allow: {users: [*a]}\n" + base, "1:17: not YAML: unknown anchor 'a' referenced"},
	{"deny:\n  endpoints:\n    - GET /a\n    - /b\n" + base, `4:7: deny.endpoints[1]: got "/b", want "METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`},
}

const listed = `
allow:
  ips: [192.0.2.1, 198.51.100.0/24, "2001:db8::/32", 2001:db9::1, "::ffff:203.0.113.0/120"]
  users: [ada, "7"]
  endpoints: [GET /items/:id, "* /status", /shop.v1.Items/Get]
deny:
  ips: [192.0.2.128/25, 192.0.2.128/26]
  users:
    - eve
levels: [{name: global, limit: block}]
`

func TestLists(t *testing.T) {
	limiter := limiterOf(t, listed)
	from := func(ip string) core.Request { return core.Request{IP: netip.MustParseAddr(ip)} }
	for reason, requests := range map[core.Reason][]core.Request{
		core.None: {
			from("192.0.2.1"), from("198.51.100.9"), from("2001:db8:1::9"), from("2001:db9::1"), from("203.0.113.4"),
			{User: "ada"},
			{User: "7"},
			{Endpoint: "GET /items/{id}"},
			{Endpoint: "PUT /status"},
			{Endpoint: "/shop.v1.Items/Get"},
		},
		core.Listed: {from("192.0.2.129"), from("192.0.2.255"), {User: "eve"}, {User: "eve", IP: netip.MustParseAddr("192.0.2.1")}},
		core.Never:  {from("192.0.2.2"), from("2001:db9::2"), {User: "ann"}, {Endpoint: "POST /items/:id"}, {}},
	} {
		for _, r := range requests {
			if d := limiter.Check(context.Background(), r); d.Reason != reason || d.Allowed != (reason == core.None) {
				t.Errorf("%+v: reason %v, want %v", r, d.Reason, reason)
			}
		}
	}
}

func TestUpdateReplacesLists(t *testing.T) {
	limiter := limiterOf(t, "deny: {users: [eve]}\nallow: {users: [ada]}\nlevels: [{name: global, limit: block}]\n")
	reason := func(user string) core.Reason {
		return limiter.Check(context.Background(), core.Request{User: user}).Reason
	}
	for _, step := range []struct {
		text     string
		eve, ada core.Reason
	}{
		{"", core.Listed, core.None},
		{"deny: {users: [ada]}\nallow: {users: [eve]}\nlevels: [{name: global, limit: block}]\n", core.None, core.Listed},
		{"levels: [{name: global, limit: block}]\n", core.Never, core.Never},
		{"deny: {}\nallow: {users: []}\nlevels: [{name: global, limit: block}]\n", core.Never, core.Never},
	} {
		if step.text != "" {
			if err := parse(t, step.text).Update(limiter); err != nil {
				t.Fatal(err)
			}
		}
		if eve, ada := reason("eve"), reason("ada"); eve != step.eve || ada != step.ada {
			t.Errorf("%q: eve %v, ada %v, want %v and %v", step.text, eve, ada, step.eve, step.ada)
		}
	}
}
