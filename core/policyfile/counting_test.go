package policyfile_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// all uses every algorithm, and most of what says how it counts.
const all = `name: shop                       # key space
proxies: [10.0.0.0/8]
ipv6_prefix: 64
headers: [ratelimit, x-ratelimit-delta]
levels:
  - {name: ip, limit: 300/min}
  - {name: user, limit: [10/s, 5000/day]}
  - {name: endpoint, limit: 1000/s, burst: 2000}
  - {name: tenant, key: "header:X-Tenant", limit: 600/min, algorithm: sliding_window, on_failure: open}
routes:
  "POST /login":
    - {name: ip, limit: 5/15min, algorithm: sliding_log, on_failure: closed}
  "GET /month":
    - {name: user, limit: 2/month, calendar: monthly, zone: Europe/Berlin}
  "GET /steps":
    - {name: user, limit: 3/h, step: 3, start: 1}
  "GET /windows":
    - {name: user, limit: 2/h, algorithm: fixed_window, offset: 15min}
  "POST /hooks":
    - {name: user, limit: 1/s, algorithm: leaky_bucket, burst: 2}
  "GET /healthz": exempt
  "GET /metrics": exempt
`

// The file's words arrive at the counting: how many pass at once, and how long the next one waits.
// The bubble's time begins on 1 January 2000 at 0:00 UTC.
func TestCounting(t *testing.T) {
	for endpoint, want := range map[string]struct {
		passed int
		wait   time.Duration
	}{
		"POST /login":  {5, 15 * time.Minute},
		"GET /month":   {2, 31*24*time.Hour - time.Hour}, // Berlin is an hour ahead
		"GET /steps":   {1, time.Hour},
		"GET /windows": {2, 15 * time.Minute},
		"POST /hooks":  {2, time.Second},
		"GET /other":   {10, 100 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			defer store.Close()
			limiter, err := parse(t, all).Limiter(store)
			if err != nil {
				t.Fatal(err)
			}
			passed, d := 0, limiter.Check(context.Background(), request(endpoint))
			for ; d.Allowed; d = limiter.Check(context.Background(), request(endpoint)) {
				passed++
			}
			if passed != want.passed || d.RetryAfter != want.wait {
				t.Errorf("%s: %d passed, the next waits %v, want %d and %v", endpoint, passed, d.RetryAfter, want.passed, want.wait)
			}
		})
	}
}

// A month's end is that of the zone: what was spent before it does not count after it.
func TestCalendarFollowsItsZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		limiter, err := parse(t, strings.Replace(all, "Europe/Berlin", "America/New_York", 1)).Limiter(store)
		if err != nil {
			t.Fatal(err)
		}
		// There it is still 1999, for five hours.
		d := limiter.Check(context.Background(), request("GET /month"))
		if !d.Allowed || d.Limit.Calendar() != core.Monthly || d.ResetAfter != 5*time.Hour {
			t.Errorf("%+v, want it to end in five hours", d)
		}
	})
}
