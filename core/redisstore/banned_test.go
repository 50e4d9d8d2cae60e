package redisstore_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A bucket may be empty for longer than a ban lasts. Who is banned is told to wait for both, whether
// Redis says so or what is remembered of that.
func TestRememberedBanTellsTheWholeWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	for _, a := range []core.Algorithm{core.TokenBucket, core.SlidingLog, core.FixedWindow} {
		level := core.PerUser(core.PerDay(2).With(a))
		level.OnFailure, level.Ban = core.Closed, core.Ban{After: 1, Within: time.Hour, For: time.Minute}
		l, err := core.New(s, core.Policy{level}, core.WithName(a.String()[:5]))
		if err != nil {
			t.Fatal(err)
		}
		r := core.Request{User: "ann"}
		for range 3 {
			l.Check(t.Context(), r)
		}
		asked := l.Check(t.Context(), r)
		server.Do(t, "CONFIG", "RESETSTAT")
		remembered := l.Check(t.Context(), r)
		if n := calls(t, server)["evalsha"]; n != 0 || remembered.Source != core.FromCache {
			t.Errorf("%v: %d calls, source %v; want none, from the cache", a, n, remembered.Source)
		}
		if asked.Reason != core.Banned || remembered.Reason != core.Banned || asked.RetryAfter <= time.Minute || remembered.RetryAfter != asked.RetryAfter {
			t.Errorf("%v: told to wait %v for %v, then %v for %v", a, asked.RetryAfter, asked.Reason, remembered.RetryAfter, remembered.Reason)
		}
	}
}

func TestBansThatCannotBeReadAreAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	level := core.PerIP(core.PerDay(1))
	level.OnFailure, level.Ban = core.Closed, core.Ban{After: 1, Within: time.Hour, For: time.Minute}
	limiter := func(client *redis.Client) *core.Limiter {
		l, err := core.New(open(t, client, redisstore.WithBudget(patient)), core.Policy{level}, core.WithRoute("GET /a:b", core.Policy{level}))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := limiter(server.Client(t))
	for range 2 {
		l.Check(t.Context(), core.Request{IP: netip.MustParseAddr("2001:db8::1"), Endpoint: "GET /a:b"})
	}
	server.Do(t, "SET", "tierlimit:1b:foreign", "nonsense")
	server.Do(t, "LPUSH", "tierlimit:1b:list", "nonsense")
	if bans, err := l.Bans(t.Context()); err != nil || len(bans) != 1 || bans[0].ID != "2001:db8::" || bans[0].Route != "GET /a:b" {
		t.Errorf("%+v, %v", bans, err)
	}
	server.Do(t, "ACL", "SETUSER", "operator", "on", ">x", "~*", "+scan")
	options := server.Client(t).Options()
	options.Username, options.Password = "operator", "x"
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	if bans, err := limiter(client).Bans(t.Context()); err == nil {
		t.Errorf("without the right to GET: %v and no error", bans)
	}
}
