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
	next  time.Duration // once the three are spent, at the beginning: until another is admitted
	queue time.Duration // and until that is served
	later time.Duration // the beginning is so much after Sunday, 30 January 2000, 21:00 UTC
}

const day = 24 * time.Hour

// berlin is an hour ahead: at the beginning a day has two hours left, and so has a week.
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
		"sliding window":         {limit: core.PerHour(3).With(core.SlidingWindow), next: 70*time.Minute - slice},
		"sliding window, offset": {limit: core.PerHour(3).With(core.SlidingWindow).WithOffset(15 * time.Minute), next: 25*time.Minute - slice},
		"sliding log":            {limit: core.PerHour(3).With(core.SlidingLog), next: time.Hour},
		"day":                    {limit: core.PerCalendar(3, core.Daily, zone), next: 2 * time.Hour},
		"week":                   {limit: core.PerCalendar(3, core.Weekly, zone), next: 2 * time.Hour},
		"month":                  {limit: core.PerCalendar(3, core.Monthly, zone), next: 2 * time.Hour, later: day},
	}
}

// slice is by how much the sliding windows of ways, which cut an hour into a million parts, round.
const slice = 778 * time.Microsecond

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

// begin lets the time of a bubble, which starts with the year 2000, go on to the beginning.
func (w way) begin() { time.Sleep(29*day + 21*time.Hour + w.later) }

// everyWay runs f for each way in a bubble of its own, over an in-process store.
func everyWay(t *testing.T, f func(t *testing.T, w way, l *core.Limiter)) {
	for name, w := range ways(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w.begin()
				s := memstore.New()
				defer s.Close()
				f(t, w, limiter(t, s, core.Policy{core.PerUser(w.limit)}))
			})
		})
	}
}
