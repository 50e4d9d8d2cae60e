package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// keyOf is the store key of a level for a request.
func keyOf(t testing.TB, p core.Policy, r core.Request, opts ...core.Option) string {
	t.Helper()
	s := scripted()
	limiter(t, s, p, opts...).Check(ctx, r)
	return s.buckets(t)[0].Key
}

// hostile identities try to be each other, or to be part of a key's structure.
var hostile = []string{
	"c", "b:c", "x|y", "x\x00y", "{x}", "{x", "x}", "*", "?", "[a]", ":", "::", "a", "a ", " a", "a\n", "%", "%3A", "%3a", "#", "#a",
	"one:k", "k", "203.0.113.7", "é", "e\u0301", "\xff", "default", "1t", "sk_live_AAAAAAAA1", "sk_live_AAAAAAAA2",
	strings.Repeat("u", 64), strings.Repeat("u", 65), strings.Repeat("%", 30), strings.Repeat("u", 1024) + "a", strings.Repeat("u", 1024) + "b",
}

func TestDifferentIdentitiesNeverShareABucket(t *testing.T) {
	seen := map[string]string{}
	check := func(what, key string) {
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s share the key %s", what, other, key)
		}
		seen[key] = what
		if len(key) > 256 || strings.Count(key, ":") != 5 {
			t.Errorf("%s: key %s is of %d bytes, want six parts of at most 256", what, key, len(key))
		}
		if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || r == '{' || r == '}' || r == '*' }) {
			t.Errorf("%s: key %q is not plain", what, key)
		}
	}
	long := strings.Repeat("n", 64)
	for _, id := range hostile {
		for _, name := range []string{"default", "app", "app-one", long} {
			check(fmt.Sprintf("user %.20q of %s", id, name), keyOf(t, core.Policy{core.PerUser(ok1)}, user(id), core.WithName(name)))
		}
		check(fmt.Sprintf("tenant %.20q", id), keyOf(t, core.Policy{core.PerKey("tenant", core.ByHeader("T"), ok1)}, core.Request{Header: header{"T": id}}))
		check(fmt.Sprintf("endpoint %.20q", id), keyOf(t, core.Policy{core.PerEndpoint(ok1)}, core.Request{Endpoint: id}))
		route := "GET /" + id
		check(fmt.Sprintf("a user on route %.20q", id), keyOf(t, core.Policy{core.PerUser(ok1)}, core.Request{User: "u", Endpoint: route}, core.WithRoute(route, core.Policy{core.PerUser(ok1)})))
	}
	check("address", keyOf(t, core.Policy{core.PerIP(ok1)}, from("203.0.113.7")))
	check("address of a user-like name", keyOf(t, core.Policy{core.PerKey("user", func(r *core.Request) (string, bool) { return r.IP.String(), true }, ok1)}, from("203.0.113.8")))
}

type header map[string]string

func (h header) Get(name string) string { return h[name] }

// Limits of one level that count apart, and those that a change of policy must carry on.
func TestKeyNamesPeriodAndAlgorithmButNotTheNumbers(t *testing.T) {
	key := func(l ...core.Limit) string { return keyOf(t, core.Policy{core.PerUser(l...)}, user("u")) }
	base := key(core.PerMinute(10))
	for _, l := range []core.Limit{core.PerMinute(11), core.PerMinute(10).WithBurst(3)} {
		if got := key(l); got != base {
			t.Errorf("%v starts anew: %s, want %s", l, got, base)
		}
	}
	seen := map[string]bool{base: true}
	for _, l := range []core.Limit{
		core.PerSecond(10), core.Per(10, time.Minute+1), core.Per(10, 1500*time.Millisecond), core.PerHour(10), core.Per(10, 60),
		core.PerMinute(10).With(core.LeakyBucket), core.PerMinute(10).With(core.FixedWindow),
		core.PerMinute(10).With(core.SlidingWindow), core.PerMinute(10).With(core.SlidingLog),
	} {
		if got := key(l); seen[got] {
			t.Errorf("%v shares the key %s", l, got)
		} else {
			seen[got] = true
		}
	}
	s := scripted()
	limiter(t, s, core.Policy{core.PerUser(core.PerMinute(10), core.PerMinute(20).WithBurst(5), core.PerHour(30), core.PerMinute(40))}).Check(ctx, user("u"))
	keys := map[string]bool{}
	for _, b := range s.buckets(t) {
		keys[b.Key] = true
	}
	if len(keys) != 4 {
		t.Errorf("4 limits of one level have %d keys: %v", len(keys), keys)
	}
	if first := s.buckets(t)[0].Key; first != base {
		t.Errorf("the first limit's key is %s, want %s whatever follows", first, base)
	}
}

func TestSecretsAndLongKeysAreHashed(t *testing.T) {
	secret := "sk_live_51H8"
	key := keyOf(t, core.Policy{core.PerUser(ok1)}, user(secret))
	if strings.Contains(key, secret) {
		t.Errorf("the key %s holds the identity", key)
	}
	if id := key[strings.LastIndex(key, ":")+1:]; len(id) != 33 || id[0] != '#' {
		t.Errorf("id is %s, want # and 128 bits", id)
	}
	address := core.Policy{core.PerIP(ok1)}
	if key := keyOf(t, address, from("192.0.2.1")); !strings.HasSuffix(key, ":192.0.2.1") {
		t.Errorf("an operator cannot read the address in %s", key)
	}
	one, two := core.WithKeyHash([]byte("0123456789abcdef")), core.WithKeyHash([]byte("0123456789abcdeg"))
	keyed := keyOf(t, address, from("192.0.2.1"), one)
	if strings.Contains(keyed, "192.0.2.1") || keyed == keyOf(t, address, from("192.0.2.1"), two) || keyed != keyOf(t, address, from("192.0.2.1"), one) {
		t.Errorf("the address is not hashed under its secret: %s", keyed)
	}
	users := core.Policy{core.PerUser(ok1)}
	if keyOf(t, users, user("u"), one) == keyOf(t, users, user("u")) {
		t.Error("the secret does not reach users' keys")
	}
	long := keyOf(t, core.Policy{core.PerUser(ok1)}, user(strings.Repeat("x", 64<<10)), core.WithName(strings.Repeat("n", 64)), core.WithRoute("GET /"+strings.Repeat("p", 2000), core.Exempt))
	if len(long) > 256 {
		t.Errorf("a 64 KiB identity makes a key of %d bytes", len(long))
	}
}

// The longest names and numbers there are still make a key that every store takes. Escaped, a longer endpoint
// would be hashed.
func TestKeysAreBounded(t *testing.T) {
	const endpoint = "/shop.v1.Items/"
	name, route := strings.Repeat("n", 64), endpoint+strings.Repeat("p", 64-len(endpoint))
	huge := core.Per(1e12, 1<<62-1).WithBurst(1e12 - 1)
	month := core.PerCalendar(1e12, core.Monthly, time.FixedZone(strings.Repeat("z", 64), 0))
	late := core.Per(1e12, 1<<61/1000*1000).With(core.FixedWindow).WithOffset(1 << 60 / 1000 * 1000)
	level := core.PerKey(strings.Repeat("l", 64), fixed, huge, huge, month, late)
	tier := core.PerEndpoint(ok1)
	tier.Name = strings.Repeat("e", 64)
	tier.LimitsFor = func(*core.Request) []core.Limit { return []core.Limit{huge, huge, month, month, late, late} }
	s := &spied{Store: memstore.New()}
	defer s.Close()
	p := core.Policy{level, tier}
	base := limiter(t, s, p, core.WithName(name), core.WithRoute(route, p))
	derived, err := base.With(p)
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for _, l := range []*core.Limiter{base, derived} {
		l.Check(ctx, core.Request{Endpoint: route})
		if len(s.seen) != 10 {
			t.Errorf("%d buckets, want 10", len(s.seen))
		}
		for _, b := range s.seen {
			if longest = max(longest, len(b.Key)); len(b.Key) > 384 {
				t.Errorf("key of %d bytes: %s", len(b.Key), b.Key)
			}
		}
	}
	t.Logf("the longest key has %d bytes", longest)
}

// spied is a store that shows what it was asked for last.
type spied struct {
	*memstore.Store
	seen []core.Bucket
}

func (s *spied) Take(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	s.seen = slices.Clone(b)
	return s.Store.Take(ctx, b, out)
}
