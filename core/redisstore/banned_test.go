package redisstore_test

import (
	"testing"
	"time"

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
