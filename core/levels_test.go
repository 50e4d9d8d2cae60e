package core_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// orders are all permutations of a policy.
func orders(p core.Policy) (out []core.Policy) {
	if len(p) <= 1 {
		return []core.Policy{p}
	}
	for i := range p {
		rest := append(append(core.Policy(nil), p[:i]...), p[i+1:]...)
		for _, o := range orders(rest) {
			out = append(out, append(core.Policy{p[i]}, o...))
		}
	}
	return out
}

func TestDenialByALateLevelChargesNoEarlierOne(t *testing.T) {
	for _, p := range orders(core.Policy{core.PerIP(core.PerMinute(100)), core.PerUser(core.PerMinute(1)), core.PerEndpoint(core.PerMinute(10))}) {
		l, _ := limiting(t, p)
		first, second := on("192.0.2.1", "a", "GET /"), on("192.0.2.2", "b", "GET /")
		for i := range 20 {
			d := l.Check(ctx, first)
			if d.Allowed != (i == 0) || (i > 0 && d.Level != "user") {
				t.Fatalf("request %d: %+v", i+1, d)
			}
		}
		if ip, end := left(t, l, first, "ip"), left(t, l, first, "endpoint"); ip != 99 || end != 9 {
			t.Errorf("%d and %d left, want 99 and 9", ip, end)
		}
		if !l.Check(ctx, second).Allowed || left(t, l, second, "endpoint") != 8 {
			t.Error("the second user pays for the first")
		}
	}
	for _, p := range orders(core.Policy{core.PerIP(core.PerMinute(100)), core.PerUser(core.PerMinute(50)), core.PerEndpoint(core.PerMinute(1))}) {
		l, _ := limiting(t, p)
		r := on("192.0.2.1", "a", "GET /")
		if got := admitted(l, r, 10); got != 1 {
			t.Errorf("%d of 10 admitted, want 1", got)
		}
		if ip, u := left(t, l, r, "ip"), left(t, l, r, "user"); ip != 99 || u != 49 {
			t.Errorf("%d and %d left, want 99 and 49", ip, u)
		}
	}
}

func TestEachLimitOfALevelMustAdmit(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerSecond(2), core.PerHour(5))})
	total := 0
	for range 10 {
		total += admitted(l, user("u"), 3)
		c.advance(time.Second)
	}
	if total != 5 {
		t.Errorf("%d admitted in ten seconds, want 5", total)
	}
	d := l.Check(ctx, user("u"))
	if parts := d.Levels(); parts[0].Policy != "user" || parts[1].Policy != "user-2" || parts[0].Denied || !parts[1].Denied || parts[0].Remaining != 2 {
		t.Errorf("%+v", parts)
	}
}

func TestNamedLimitersShareNothing(t *testing.T) {
	s, _ := memory(t)
	login := limiter(t, s, core.Policy{core.PerUser(core.PerMinute(5))}, core.WithName("login"))
	api := limiter(t, s, core.Policy{core.PerUser(core.PerMinute(100))}, core.WithName("api"))
	if got := admitted(login, user("u"), 10); got != 5 {
		t.Errorf("login admits %d, want 5", got)
	}
	if got := left(t, api, user("u"), "user"); got != 100 {
		t.Errorf("api has %d left, want 100", got)
	}
	replica := limiter(t, s, core.Policy{core.PerUser(core.PerMinute(5))}, core.WithName("login"))
	if replica.Check(ctx, user("u")).Allowed {
		t.Error("two replicas of one name do not share")
	}
}

func TestIPv6ClientsAreTheirPrefix(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(10))})
	passed := 0
	for i := 1; i <= 100; i++ {
		passed += admitted(l, from(fmt.Sprintf("2001:db8:1:2::%x", i)), 1)
	}
	if passed != 10 || !l.Check(ctx, from("2001:db8:1:3::1")).Allowed {
		t.Errorf("%d admitted from one /64, want 10, and the next /64 is its own", passed)
	}
	if l.Check(ctx, from("2001:db8:1:2::1%eth0")).Allowed {
		t.Error("a zone makes another client")
	}
	l, _ = limiting(t, core.Policy{core.PerIP(core.PerHour(1))})
	for i := range 100 {
		if !l.Check(ctx, from(fmt.Sprintf("192.0.2.%d", i))).Allowed {
			t.Fatal("IPv4 is widened")
		}
	}
	if l.Check(ctx, from("::ffff:192.0.2.7")).Allowed {
		t.Error("a 4-in-6 address is another client than its IPv4 one")
	}
	for bits, same := range map[int]bool{32: true, 47: true, 48: false, 64: false, 128: false} {
		l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(1))}, core.WithIPv6Prefix(bits))
		l.Check(ctx, from("2001:db8:2::1"))
		if got := !l.Check(ctx, from("2001:db8:3::1")).Allowed; got != same {
			t.Errorf("/%d: one client is %v", bits, got)
		}
	}
	l, _ = limiting(t, core.Policy{core.PerIP(core.PerHour(1))}, core.WithIPv6Prefix(128))
	if !l.Check(ctx, from("2001:db8::1")).Allowed || !l.Check(ctx, from("2001:db8::2")).Allowed {
		t.Error("/128 joins two addresses")
	}
}

func TestMissingIdentityIsNoSharedBucket(t *testing.T) {
	l, _ := limiting(t, core.Policy{
		core.PerIP(core.PerHour(1)), core.PerUser(core.PerHour(1)), core.PerEndpoint(core.PerHour(1)),
		core.PerKey("tenant", core.ByHeader("X-Tenant"), core.PerHour(1)), core.PerKey("given", core.Provided, core.PerHour(1)),
		core.PerKey("empty", func(*core.Request) (string, bool) { return "", true }, core.PerHour(1)),
	})
	for range 3 {
		if d := l.Check(ctx, core.Request{Header: header{}}); !d.Allowed || d.Source != core.FromExempt || len(d.Levels()) != 0 {
			t.Fatalf("a request without anything: %+v", d)
		}
	}
	if got := l.Stats().NoAddress; got != 3 {
		t.Errorf("%d requests without address counted, want 3", got)
	}
	var r core.Request
	r.SetKey("given", "k", true)
	r.SetKey("tenant", "", true)
	if got := l.Peek(ctx, r).Levels(); len(got) != 1 || got[0].Level != "given" {
		t.Errorf("a given key and an empty one meet %+v, want the first's level only", got)
	}
	if got := admitted(l, r, 3); got != 1 {
		t.Errorf("a key from the adapter admits %d of 3, want 1", got)
	}
	r = core.Request{Header: header{"X-Tenant": "t"}}
	r.SetKey("tenant", "other", false)
	if d := l.Check(ctx, r); len(d.Levels()) != 0 {
		t.Errorf("the adapter's word does not come before the level's own: %+v", d.Levels())
	}
	if got := admitted(l, core.Request{Header: header{"X-Tenant": "t"}}, 3); got != 1 {
		t.Errorf("a header key admits %d of 3, want 1", got)
	}
}

// An identity that clients choose is a new bucket each time: the address level still holds.
func TestAddressLevelHoldsAgainstChosenIdentities(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerMinute(120)), core.PerKey("user", core.ByHeader("X-User"), core.PerMinute(10))})
	denied := 0
	for i := range 150 {
		d := l.Check(ctx, core.Request{IP: netip.MustParseAddr("192.0.2.1"), Header: header{"X-User": fmt.Sprint(i)}})
		if !d.Allowed {
			denied++
			if d.Level != "ip" {
				t.Fatalf("denied by %s", d.Level)
			}
		}
	}
	if denied != 30 {
		t.Errorf("%d denied, want 30", denied)
	}
}
