package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// way is a way to count: a limit of three at once.
type way struct {
	limit core.Limit
	next  time.Duration // once the three are spent, on Sunday, 30 January 2000 at 0:00 UTC: until another is admitted
	queue time.Duration // and until that is served
}

const day = 24 * time.Hour

// berlin is an hour ahead: at midnight UTC a day that began at 1:00 has 23 hours left.
func berlin(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// ways are all there are.
func ways(t testing.TB) map[string]way {
	zone := berlin(t)
	return map[string]way{
		"token bucket":           {limit: core.PerHour(3), next: 20 * time.Minute},
		"burst":                  {limit: core.PerHour(6).WithBurst(3), next: 10 * time.Minute},
		"steps":                  {limit: core.PerHour(3).WithStep(3), next: time.Hour},
		"small steps":            {limit: core.PerHour(4).WithBurst(3).WithStep(2), next: 30 * time.Minute},
		"start":                  {limit: core.PerHour(6).WithStart(3), next: 10 * time.Minute},
		"steps and start":        {limit: core.PerHour(6).WithStep(6).WithStart(3), next: time.Hour},
		"leaky bucket":           {limit: core.PerHour(3).With(core.LeakyBucket), next: 20 * time.Minute, queue: 40 * time.Minute},
		"fixed window":           {limit: core.PerHour(3).With(core.FixedWindow), next: time.Hour},
		"fixed window, offset":   {limit: core.PerHour(3).With(core.FixedWindow).WithOffset(15 * time.Minute), next: 15 * time.Minute},
		"sliding window":         {limit: core.PerHour(3).With(core.SlidingWindow), next: 80*time.Minute - slice},
		"sliding window, offset": {limit: core.PerHour(3).With(core.SlidingWindow).WithOffset(15 * time.Minute), next: 35*time.Minute - slice},
		"sliding log":            {limit: core.PerHour(3).With(core.SlidingLog), next: time.Hour},
		"day":                    {limit: core.PerCalendar(3, core.Daily, zone), next: 23 * time.Hour},
		"week":                   {limit: core.PerCalendar(3, core.Weekly, zone), next: 23 * time.Hour},
		"month":                  {limit: core.PerCalendar(3, core.Monthly, zone), next: 47 * time.Hour},
	}
}

// slice is by how much the sliding windows of ways, which cut an hour into a million parts, round.
const slice = 1996 * time.Microsecond

// spend spends the three, and returns the refusal that follows.
func spend(t testing.TB, l *core.Limiter) core.Decision {
	t.Helper()
	for i := range 3 {
		if d := l.Check(ctx, user("u")); !d.Allowed || d.Remaining != int64(2-i) && d.Limit.Start() == d.Limit.Capacity() {
			t.Fatalf("request %d of three: %+v", i+1, d)
		}
	}
	d := l.Check(ctx, user("u"))
	if d.Allowed || d.Reason != core.Quota || d.Remaining != 0 {
		t.Fatalf("a fourth: %+v, want it refused", d)
	}
	return d
}

// everyWay runs f for each way in a bubble whose time begins as said above, over an in-process store.
func everyWay(t *testing.T, f func(t *testing.T, w way, l *core.Limiter)) {
	for name, w := range ways(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(29 * day) // from 1 January on
				s := memstore.New()
				defer s.Close()
				f(t, w, limiter(t, s, core.Policy{core.PerUser(w.limit)}))
			})
		})
	}
}
