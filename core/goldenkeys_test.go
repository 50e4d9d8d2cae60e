package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Keys are what running services know their debts by: any other byte forgives them all.
func TestKeysStayAsTheyAre(t *testing.T) {
	secret := core.WithKeyHash([]byte("0123456789abcdef"))
	long := strings.Repeat("x", 65)
	fill := func(id string) core.Request { return on("2001:db8:1:2:3::4", id, "GET /items/:id") }
	for name, row := range map[string]struct {
		policy core.Policy
		r      core.Request
		opts   []core.Option
		want   []string
	}{
		"built in": {
			three(), fill("ann"), nil,
			[]string{
				"1t:default::ip:60s:2001%3Adb8%3A1%3A2%3A%3A",
				"1t:default::user:60s:#49915e0d7d4b402e3017d010bc1c0e83",
				"1t:default::endpoint:1s:GET%20/items/%7Bid%7D",
			},
		},
		"under a secret": {
			three(), fill("ann"),
			[]core.Option{secret},
			[]string{
				"1t:default::ip:60s:#56d0506912a65e00638c895b463dc81b",
				"1t:default::user:60s:#fb385915a0623c0be3e7b0a7134dbb62",
				"1t:default::endpoint:1s:GET%20/items/%7Bid%7D",
			},
		},
		"IPv4": {
			core.Policy{core.PerIP(ok1)},
			from("203.0.113.7"), nil,
			[]string{
				"1t:default::ip:1s:203.0.113.7",
			},
		},
		"the longest address": {
			core.Policy{core.PerIP(ok1)},
			from("2001:db81:db82:db83:db84:db85:db86:db87"),
			[]core.Option{core.WithIPv6Prefix(128)},
			[]string{
				"1t:default::ip:1s:2001%3Adb81%3Adb82%3Adb83%3Adb84%3Adb85%3Adb86%3Adb87",
			},
		},
		"long ids": {
			core.Policy{core.PerUser(ok1), core.PerEndpoint(ok1)},
			core.Request{User: long, Endpoint: long},
			nil,
			[]string{
				"1t:default::user:1s:#9537c5fdf120482f7d58d25e9ed583f5",
				"1t:default::endpoint:1s:#9537c5fdf120482f7d58d25e9ed583f5",
			},
		},
		"long ids under a secret": {
			core.Policy{core.PerUser(ok1), core.PerEndpoint(ok1)},
			core.Request{User: long, Endpoint: long},
			[]core.Option{secret},
			[]string{
				"1t:default::user:1s:#c82fc2ff9fc8b4f60decae1024080fec",
				"1t:default::endpoint:1s:#9537c5fdf120482f7d58d25e9ed583f5",
			},
		},
		"escaping up to the bound": {
			core.Policy{core.PerEndpoint(ok1)},
			core.Request{Endpoint: strings.Repeat("%", 21) + "a"},
			nil,
			[]string{
				"1t:default::endpoint:1s:%25%25%25%25%25%25%25%25%25%25%25%25%25%25%25%25%25%25%25%25%25a",
			},
		},
		"escaping beyond it": {
			core.Policy{core.PerEndpoint(ok1)},
			core.Request{Endpoint: strings.Repeat("%", 21) + "ab"},
			nil,
			[]string{
				"1t:default::endpoint:1s:#540a88fe0b8df77c75e5c82b0479c32f",
			},
		},
		"several limits": {
			core.Policy{core.PerUser(core.PerMinute(10), core.PerMinute(20), core.Unlimited, core.Per(5, 1500*time.Millisecond).With(core.SlidingLog)), core.Global(ok1)},
			user("ann"), nil,
			[]string{
				"1t:default::user:60s:#49915e0d7d4b402e3017d010bc1c0e83",
				"1t:default::user:60s.2:#49915e0d7d4b402e3017d010bc1c0e83",
				"1g:default::user:1500000000ns:#49915e0d7d4b402e3017d010bc1c0e83",
				"1t:default::global:1s:all",
			},
		},
		"a route, a tier and a name": {
			core.Policy{core.PerIP(ok1), tiers(func(*core.Request) []core.Limit { return []core.Limit{core.PerMinute(600).WithBurst(7)} })},
			fill("ann"),
			[]core.Option{core.WithName("shop"), core.WithRoute("GET /items/{id}", core.Policy{core.PerIP(ok1)})},
			[]string{
				"1t:shop:GET%20/items/%7Bid%7D:ip:1s:2001%3Adb8%3A1%3A2%3A%3A",
				"1t:shop::user:60s-600-7:#49915e0d7d4b402e3017d010bc1c0e83",
			},
		},
	} {
		s := scripted()
		limiter(t, s, row.policy, row.opts...).Check(ctx, row.r)
		var got []string
		for _, b := range s.buckets(t) {
			got = append(got, b.Key)
		}
		equal(t, name, got, row.want)
	}
}
