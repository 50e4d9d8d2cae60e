package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// counting is a limiter of one user level over Redis.
func counting(t testing.TB, server *redistest.Server, clock *storetest.Clock, limit core.Limit) *core.Limiter {
	t.Helper()
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	level := core.PerUser(limit)
	level.OnFailure = core.Closed
	l, err := core.New(s, core.Policy{level}, core.WithName("shop"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// spendAll makes so many requests, a second apart.
func spendAll(t testing.TB, l *core.Limiter, clock *storetest.Clock, n int) {
	t.Helper()
	for range n {
		if d := l.Check(context.Background(), core.Request{User: "user-4711"}); !d.Allowed {
			t.Fatalf("%+v", d)
		}
		clock.Advance(time.Second)
	}
}

// TestBytesOfAKey measures what docs/algorithms.md says of memory: with -v it prints that.
func TestBytesOfAKey(t *testing.T) {
	server := redistest.Start(t)
	limit, zone := core.PerHour(1000), time.UTC
	for _, c := range []struct {
		name   string
		limit  core.Limit
		spent  int
		atMost int64
	}{
		{"token bucket", limit, 10, 160},
		{"token bucket, WithStart(500)", limit.WithStart(500), 10, 176},
		{"token bucket, WithStep(100)", limit.WithStep(100), 10, 160},
		{"leaky bucket", limit.With(core.LeakyBucket), 10, 160},
		{"fixed window", limit.With(core.FixedWindow), 10, 176},
		{"fixed window, PerCalendar(1000, Monthly, UTC)", core.PerCalendar(1000, core.Monthly, zone), 10, 192},
		{"sliding window", limit.With(core.SlidingWindow), 10, 176},
		{"sliding log, 1 entry", limit.With(core.SlidingLog), 1, 192},
		{"sliding log, 5 entries", limit.With(core.SlidingLog), 5, 300},
		{"sliding log, 100 entries", limit.With(core.SlidingLog), 100, 100 * 20},
		{"sliding log, 1000 entries", limit.With(core.SlidingLog), 1000, 1000 * 20},
	} {
		server.Do(t, "FLUSHALL")
		clock := new(storetest.Clock)
		l := counting(t, server, clock, c.limit)
		spendAll(t, l, clock, c.spent)
		keys, _ := server.Do(t, "KEYS", "*").([]any)
		if len(keys) != 1 {
			t.Errorf("%s: keys are %v, want one", c.name, keys)
			continue
		}
		bytes, _ := server.Do(t, "MEMORY", "USAGE", keys[0], "SAMPLES", "0").(int64)
		t.Logf("%-46s %6d bytes, %d of them the name", c.name, bytes, len(fmt.Sprint(keys[0])))
		if bytes < 60 || bytes > c.atMost {
			t.Errorf("%s: %v takes %d bytes, want at most %d", c.name, keys[0], bytes, c.atMost)
		}
	}
}

// TestCostOfALongLog measures what a check costs Redis as a log grows: with -v it prints that.
func TestCostOfALongLog(t *testing.T) {
	server := redistest.Start(t)
	const checks = 200
	cost := func(n int) (us float64) {
		server.Do(t, "FLUSHALL")
		clock := new(storetest.Clock)
		l := counting(t, server, clock, core.Per(1_000_000, 1_000_000*time.Hour).With(core.SlidingLog))
		for range n { // all at once would be one entry
			l.Check(context.Background(), core.Request{User: "user-4711"})
			clock.Advance(time.Millisecond)
		}
		server.Do(t, "CONFIG", "RESETSTAT")
		spendAll(t, l, clock, checks)
		var usec int
		for line := range strings.SplitSeq(fmt.Sprint(server.Do(t, "INFO", "commandstats")), "\r\n") {
			if _, rest, ok := strings.Cut(line, "cmdstat_evalsha:"); ok {
				_, rest, _ = strings.Cut(rest, "usec=")
				_, _ = fmt.Sscanf(rest, "%d", &usec)
			}
		}
		return float64(usec) / checks
	}
	short := cost(5)
	t.Logf("%6d entries: %6.0f us a check", 5, short)
	for _, n := range []int{100, 1000, 10_000} {
		us := cost(n)
		t.Logf("%6d entries: %6.0f us a check", n, us)
		if us <= 0 || us > 100*short {
			t.Errorf("%d entries: %.0f us a check and %.0f us with 5: it reads each entry", n, us, short)
		}
	}
}
