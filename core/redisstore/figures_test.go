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

// redisCost is the CPU time that Redis' scripts took for each of so many checks, in microseconds.
func redisCost(t testing.TB, server *redistest.Server, checks int, run func()) float64 {
	t.Helper()
	server.Do(t, "CONFIG", "RESETSTAT")
	run()
	var usec int
	for line := range strings.SplitSeq(fmt.Sprint(server.Do(t, "INFO", "commandstats")), "\r\n") {
		if _, rest, ok := strings.Cut(line, "cmdstat_evalsha:"); ok {
			_, rest, _ = strings.Cut(rest, "usec=")
			_, _ = fmt.Sscanf(rest, "%d", &usec)
		}
	}
	return float64(usec) / float64(checks)
}

// TestCostOfACheck measures what a check costs Redis, alone and among 64, and how that grows with a
// log: with -v it prints that.
func TestCostOfACheck(t *testing.T) {
	server := redistest.Start(t)
	limit := core.Per(1_000_000, 1_000_000*time.Hour)
	cost := func(name string, limit core.Limit, before int) (alone, crowd float64) {
		server.Do(t, "FLUSHALL")
		clock := new(storetest.Clock)
		l := counting(t, server, clock, limit)
		for range before { // all at once would be one entry of a log
			l.Check(context.Background(), core.Request{User: "user-4711"})
			clock.Advance(time.Millisecond)
		}
		alone = redisCost(t, server, 300, func() { spendAll(t, l, clock, 300) })
		if before > 5 {
			t.Logf("%-28s %5.0f us alone", name, alone)
			return alone, alone
		}
		round := func() {
			together(64, func(i int) {
				for n := range 100 {
					l.Check(context.Background(), core.Request{User: fmt.Sprint("user-", (i*100+n)%1000)})
				}
			})
		}
		round() // each user has a key
		crowd = redisCost(t, server, 6400, round)
		t.Logf("%-28s %5.0f us alone, %3.0f us among 64", name, alone, crowd)
		return alone, crowd
	}
	plain, plainCrowd := cost("token bucket", limit, 5)
	for _, c := range []struct {
		name  string
		limit core.Limit
	}{
		{"leaky bucket", limit.With(core.LeakyBucket)},
		{"token bucket, WithStart", limit.WithStart(1000)},
		{"token bucket, WithStep", limit.WithStep(1000)},
		{"fixed window", limit.With(core.FixedWindow)},
		{"day", core.PerCalendar(1_000_000, core.Daily, nil)},
		{"sliding window", limit.With(core.SlidingWindow)},
		{"sliding log, 5 entries", limit.With(core.SlidingLog)},
	} {
		if alone, crowd := cost(c.name, c.limit, 5); alone <= 0 || alone > 20*plain || crowd <= 0 || crowd > 20*plainCrowd {
			t.Errorf("%s: %.0f and %.0f us a check, and %.0f and %.0f us for a token bucket", c.name, alone, crowd, plain, plainCrowd)
		}
	}
	for _, n := range []int{100, 1000, 10_000} {
		if us, _ := cost(fmt.Sprintf("sliding log, %d entries", n), limit.With(core.SlidingLog), n); us <= 0 || us > 200*plain {
			t.Errorf("%d entries: %.0f us a check: it looks at each entry", n, us)
		}
	}
}
