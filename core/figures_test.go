package core_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// figures are what a client gets of a limit who asks all the time, having rested before.
type figures struct {
	atOnce  int           // served at its first instant
	busiest int           // in the busiest minute, whenever in a window it began
	rush    int           // at the busiest instant, once it has asked for two minutes
	silence time.Duration // the longest from one to the next, then
}

// watch asks every 50 ms for some minutes, beginning at each of 6 places in a minute.
func watch(t testing.TB, limit core.Limit) (f figures) {
	t.Helper()
	const every, last = 50 * ms, 4 * time.Minute
	for phase := range 6 {
		l, c := limiting(t, core.Policy{core.PerUser(limit)})
		c.set(-epoch.Sub(epoch.Truncate(time.Minute))) // the epoch of the tests is no whole minute
		begin := time.Duration(c.ns.Load()) + time.Duration(phase)*10*time.Second + 9500*ms
		var served []time.Duration
		for at := time.Duration(0); at < last; at += every {
			c.set(begin + at)
			for d := l.Check(ctx, user("u")); d.Allowed; d = l.Check(ctx, user("u")) {
				served = append(served, at+d.Delay)
			}
		}
		f.count(served, last)
	}
	return f
}

func (f *figures) count(served []time.Duration, last time.Duration) {
	first, instant := 0, 0
	for i, at := range served {
		for at-served[first] >= time.Minute {
			first++
		}
		f.busiest = max(f.busiest, i-first+1)
		if i == 0 || served[i-1] != at {
			instant = 0
		}
		instant++
		if at == 0 {
			f.atOnce = max(f.atOnce, instant)
		}
		if at > 2*time.Minute && at < last {
			f.rush, f.silence = max(f.rush, instant), max(f.silence, at-served[i-1])
		}
	}
}

// The table of docs/algorithms.md is what is measured here.
func TestFiguresOfTheDocument(t *testing.T) {
	limit := core.PerMinute(60)
	var rows []string
	for _, l := range []struct {
		name  string
		limit core.Limit
	}{
		{"token bucket", limit},
		{"token bucket, `WithBurst(10)`", limit.WithBurst(10)},
		{"token bucket, `WithStart(0)`", limit.WithStart(0)},
		{"token bucket, `WithStep(60)`", limit.WithStep(60)},
		{"leaky bucket", limit.With(core.LeakyBucket)},
		{"leaky bucket, `WithBurst(1)`", limit.With(core.LeakyBucket).WithBurst(1)},
		{"fixed window", limit.With(core.FixedWindow)},
		{"sliding window", limit.With(core.SlidingWindow)},
		{"sliding log", limit.With(core.SlidingLog)},
	} {
		f := watch(t, l.limit)
		rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %v |", l.name, f.atOnce, f.busiest, f.rush, f.silence.Round(10*ms)))
	}
	t.Logf("60 a minute: at once, in the busiest minute, in a rush, longest silence\n%s", strings.Join(rows, "\n"))
	lacks(t, rows...)
}

// even is which share of requests a limit a minute admits that come at its very rate, in percent: the least and
// the most of ten places in a window where they may begin. The first five minutes are not counted.
func even(t testing.TB, limit core.Limit) (least, most int64) {
	t.Helper()
	const from, to = 5, 35
	least = 100
	every := limit.Period / time.Duration(limit.Quota)
	for place := range 10 {
		l, c := limiting(t, core.Policy{core.PerUser(limit)})
		c.set(-epoch.Sub(epoch.Truncate(time.Minute)))
		c.advance(every * time.Duration(2*place+1) / 20)
		admitted := int64(0)
		for i := range to * limit.Quota {
			if l.Check(ctx, user("u")).Allowed && i >= from*limit.Quota {
				admitted++
			}
			c.advance(every)
		}
		share := 100 * admitted / (limit.Quota * (to - from))
		least, most = min(least, share), max(most, share)
	}
	return least, most
}

// Who keeps to the rate exactly is refused by no limit but a sliding window, which rounds what it
// estimates to a unit.
func TestEvenRequestsOfTheDocument(t *testing.T) {
	row := "| admits |"
	for _, quota := range []int64{1, 2, 3, 5, 10, 60} {
		limit := core.PerMinute(quota)
		leaky := limit.With(core.LeakyBucket)
		for _, l := range []core.Limit{
			limit, limit.WithBurst(1), limit.WithStep(quota), leaky, leaky.WithBurst(1),
			limit.With(core.FixedWindow), limit.With(core.SlidingLog),
		} {
			if least, _ := even(t, l); least < 100 {
				t.Errorf("%v admits %d %% of even requests, want all", l, least)
			}
		}
		least, most := even(t, limit.With(core.SlidingWindow))
		if row += fmt.Sprintf(" %d %% |", least); least != most {
			row = strings.TrimSuffix(row, " % |") + fmt.Sprintf(" to %d %% |", most)
		}
	}
	t.Logf("a sliding window\n%s", row)
	lacks(t, row)
}

// lacks complains of each row that docs/algorithms.md does not have.
func lacks(t *testing.T, rows ...string) {
	t.Helper()
	text, err := os.ReadFile("../docs/algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, row := range rows {
		if !slices.Contains(lines, row) {
			t.Errorf("docs/algorithms.md lacks\n%s", row)
		}
	}
}
