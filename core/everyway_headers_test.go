package core_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// What a client reads of each way of counting: after its first request, after its third, and when it
// is refused.
func TestHeadersByEveryWay(t *testing.T) {
	for name, want := range map[string]struct {
		policy             string
		first, third, wait int64 // seconds
	}{
		"token bucket":           {"q=3;w=3600", 1200, 1200, 1200},
		"burst":                  {"q=6;w=3600", 600, 600, 600},
		"steps":                  {"q=3;w=3600", 3600, 3600, 3600},
		"small steps":            {"q=4;w=3600", 1800, 1800, 1800},
		"start":                  {"q=6;w=3600", 600, 600, 600},
		"steps and start":        {"q=6;w=3600", 3600, 3600, 3600},
		"leaky bucket":           {"q=3;w=3600", 1200, 1200, 1200},
		"fixed window":           {"q=3;w=3600", 3600, 3600, 3600},
		"fixed window, offset":   {"q=3;w=3600", 900, 900, 900},
		"sliding window":         {"q=3;w=3600", 5401, 4200, 4200}, // until half of the one is gone, or half of the first of three
		"sliding window, offset": {"q=3;w=3600", 2701, 1500, 1500},
		"sliding log":            {"q=3;w=3600", 3600, 3600, 3600},
		"day":                    {"q=3;w=86400", 7200, 7200, 7200},
		"week":                   {"q=3;w=604800", 7200, 7200, 7200},
		"month":                  {"q=3;w=2592000", 7200, 7200, 7200},
	} {
		w, ok := ways(t)[name]
		if !ok {
			t.Fatalf("no way is called %s", name)
		}
		synctest.Test(t, func(t *testing.T) {
			w.begin()
			l, c := limiting(t, core.Policy{core.PerUser(w.limit)})
			c.set(time.Until(epoch) * -1) // the store's clock is the bubble's
			var got []string
			for range 4 {
				got = append(got, lines(l.Check(ctx, user("u")))[1:]...)
			}
			equal(t, name, []string{got[0], got[2], got[3], got[4]}, []string{
				fmt.Sprintf(`RateLimit: "user";r=2;t=%d`, want.first), fmt.Sprintf(`RateLimit: "user";r=0;t=%d`, want.third),
				fmt.Sprintf(`RateLimit: "user";r=0;t=%d`, want.wait), fmt.Sprintf(`Retry-After: %d`, want.wait),
			})
			if got := lines(l.Peek(ctx, user("v")))[0]; got != `RateLimit-Policy: "user";`+want.policy {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}

// The month that follows is as long as it is, though its nominal length is 30 days.
func TestTheEndOfAMonthMayBeBeyondItsNominalLength(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.PerCalendar(1, core.Monthly, nil))})
	c.set(time.Unix(1767225600, 0).Sub(epoch)) // 1 January 2026
	equal(t, "headers", lines(l.Check(ctx, user("u"))), []string{`RateLimit-Policy: "user";q=1;w=2592000`, `RateLimit: "user";r=0;t=2678400`})
	if d := l.Check(ctx, user("u")); d.RetryAfter != 31*day || retryAfter(t, d) != 31*86400 {
		t.Errorf("%+v", d)
	}
}

// Who would have to wait in the queue for too long is told that there is nothing for him, and until
// when; and what the request was charged elsewhere is there again.
func TestHeadersOfAQueueThatIsTooLong(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(100)), core.PerUser(core.PerSecond(10).WithBurst(100).With(core.LeakyBucket))})
	r := on("192.0.2.1", "u", "")
	admitted(l, r, 25)
	d := l.Check(ctx, r).Pace(ctx, time.Second)
	equal(t, "headers", lines(d), []string{
		`RateLimit-Policy: "ip";q=100;w=3600, "user";q=10;w=1`, `RateLimit: "ip";r=75;t=36, "user";r=0;t=2`, "Retry-After: 2",
	})
	if d.Remaining != 0 || d.RetryAfter != 1500*ms {
		t.Errorf("%+v, want nothing left for one and a half seconds", d)
	}
	if got := left(t, l, r, "user"); got != 75 {
		t.Errorf("%d places in the queue, want 75: the last one is given back", got)
	}
}
