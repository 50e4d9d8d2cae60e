package redisstore_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

const maxStoredKey = 512 // prefix, level, endpoint and id, each at its longest

func limiter(t *testing.T, s core.Store, p core.Policy, opts ...core.Option) *core.Limiter {
	t.Helper()
	for i := range p {
		p[i].OnFailure = core.Closed
	}
	l, err := core.New(s, p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func keys(t *testing.T, server *redistest.Server) []string {
	t.Helper()
	var names []string
	for _, k := range server.Do(t, "KEYS", "*").([]any) {
		names = append(names, k.(string))
	}
	return names
}

// admitOnce checks that each request is admitted once: that no two are one bucket, and that
// each is one.
func admitOnce(t *testing.T, l *core.Limiter, requests map[string]core.Request) {
	t.Helper()
	for round, want := range []bool{true, false} {
		for name, r := range requests {
			if d := l.Check(context.Background(), r); d.Allowed != want || d.Err != nil {
				t.Errorf("request %d of %s: allowed %v, %v; want %v", round+1, name, d.Allowed, d.Err, want)
			}
		}
	}
}

// Nothing that a client sends as its identity may merge with another one, reach Redis as it is,
// or make a hash tag.
func TestStrangeIdentitiesNeverMerge(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := limiter(t, open(t, server.Client(t), redisstore.WithBudget(patient)), core.Policy{core.PerUser(core.PerHour(1))})
	long := strings.Repeat("k", 1<<20)
	users := []string{
		"{", "}", "{}", "{x}", "}{", "a}{b", "x", "*", "?", "x|y", "x:y", "x::y", "x", "X", " x", "x ",
		"x\x00y", "x\x00", "\x00", "x\r\ny", "\r\n", "x\ny", "%00", "%2525", "\xff\xfe", "\xc3\x28", "é", "e\u0301", "日本",
		"203.0.113.7", "#" + strings.Repeat("0", 32), "$5\r\nhello\r\n", "*1\r\n$8\r\nFLUSHALL\r\n",
		long, long + "a", long + "b", long[:1024], long[:1024] + "c", long[:65536],
		"sk_live_AAAAAAAA1", "sk_live_AAAAAAAA2",
	}
	slices.Sort(users)
	users = slices.Compact(users)
	requests := map[string]core.Request{}
	for _, u := range users {
		requests[fmt.Sprintf("user %.40q", u)] = core.Request{User: u}
	}
	for i := range 200 {
		u := fmt.Sprint(long[:65536], i)
		requests["user "+u[65536-20:]] = core.Request{User: u}
	}
	admitOnce(t, l, requests)
	names := keys(t, server)
	if len(names) != len(requests) {
		t.Errorf("%d keys for %d users", len(names), len(requests))
	}
	for _, k := range names {
		if len(k) > maxStoredKey || strings.ContainsAny(k, "{}\r\n\x00 ") || strings.Contains(k, "sk_live") {
			t.Errorf("key %.200q of %d bytes, want it short, plain and without the secret", k, len(k))
		}
	}
}

func TestPartsOfAKeyNeverRunIntoEachOther(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	once := core.PerHour(1)
	key := func(r *core.Request) (string, bool) { return r.User + r.Endpoint, true }
	pair := func(r *core.Request) (string, bool) { return r.Endpoint + "\x00" + r.User, true }
	admitOnce(t, limiter(t, s, core.Policy{core.PerKey("pair", pair, once)}), map[string]core.Request{
		"a:b, c": {Endpoint: "GET a:b", User: "c"}, "a, b:c": {Endpoint: "GET a", User: "b:c"},
	})
	admitOnce(t, limiter(t, s, core.Policy{core.PerEndpoint(once)}), map[string]core.Request{
		"a:b": {Endpoint: "GET a:b"}, "a": {Endpoint: "GET a"}, "colon": {Endpoint: "GET :"}, "a%3Ab": {Endpoint: "GET a%3Ab"},
		"tag": {Endpoint: "GET /{id}/x"}, "long": {Endpoint: "GET /" + strings.Repeat("x", 100)}, "longer": {Endpoint: "GET /" + strings.Repeat("x", 101)},
	})
	// One identity at two levels, and an address that is somebody's name.
	addr := netip.MustParseAddr("203.0.113.7")
	admitOnce(t, limiter(t, s, core.Policy{core.PerIP(once)}), map[string]core.Request{"ip": {IP: addr}})
	admitOnce(t, limiter(t, s, core.Policy{core.PerUser(once)}), map[string]core.Request{"user": {User: addr.String()}})
	// A name that ends where the next part begins, and levels that do.
	for _, c := range [][2]string{{"app", "one-k"}, {"app-one", "k"}, {"app_one", "k"}} {
		admitOnce(t, limiter(t, s, core.Policy{core.PerKey(c[1], key, once)}, core.WithName(c[0])), map[string]core.Request{fmt.Sprint(c): {User: "k"}})
	}
}

func TestLimitersOfDifferentNamesShareNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	login := limiter(t, s, core.Policy{core.PerUser(core.PerMinute(5))}, core.WithName("login"))
	api := limiter(t, s, core.Policy{core.PerUser(core.PerMinute(100))}, core.WithName("api"))
	same := limiter(t, s, core.Policy{core.PerUser(core.PerMinute(5))}, core.WithName("login"))
	r := core.Request{User: "u", Endpoint: "POST /login"}
	for range 6 {
		login.Check(t.Context(), r)
	}
	if d := same.Check(t.Context(), r); d.Allowed {
		t.Error("a limiter of the same name does not see what was spent")
	}
	if d := api.Check(t.Context(), r); !d.Allowed || d.Remaining != 99 {
		t.Errorf("the other limiter: allowed %v, %d left, want 99", d.Allowed, d.Remaining)
	}
}

func TestPrefixSeparatesStores(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	b := bucket("b", core.PerHour(1))
	for _, prefix := range []string{"a", "b", "a.b", "A", "a-", strings.Repeat("p", 64)} {
		s := open(t, client, redisstore.WithBudget(patient), redisstore.WithPrefix(prefix))
		if !take(t, s, b)[0].Charged || take(t, s, b)[0].Charged {
			t.Errorf("prefix %q is not its own", prefix)
		}
		if server.Do(t, "EXISTS", prefix+":"+b.Key) != int64(1) {
			t.Errorf("prefix %q: no key that begins with it", prefix)
		}
	}
	if n := len(keys(t, server)); n != 6 {
		t.Errorf("%d keys, want 6", n)
	}
}

func TestStoresOfDifferentServersShareNothing(t *testing.T) {
	t.Parallel()
	b := bucket("b", core.PerHour(1))
	for range 2 {
		s := open(t, redistest.Start(t).Client(t), redisstore.WithBudget(patient))
		if !take(t, s, b)[0].Charged {
			t.Error("spent on another server")
		}
	}
}

// A database of its own is the client's to choose.
func TestDatabaseOfTheClientIsUsed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opt := *server.Client(t).Options()
	b := bucket("b", core.PerHour(1))
	for db := range 2 {
		opt.DB = db
		s := open(t, connect(t, server.Addr(), &opt), redisstore.WithBudget(patient))
		if !take(t, s, b)[0].Charged || take(t, s, b)[0].Charged {
			t.Errorf("database %d is not its own", db)
		}
	}
}
