package adaptertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// loadCases: many requests at once, over connections that are used again.
var loadCases = group{
	"a thousand requests at once get exactly what the limit admits": func(t *testing.T, h *harness) {
		const requests, limit = 1000, 300
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerIP(core.PerHour(limit))})))
		var admitted, refused atomic.Int64
		atOnce(requests, func(int) {
			switch a := c.do(t, "GET /x"); a.status {
			case 200:
				admitted.Add(1)
			case 429:
				a.has(t, "RateLimit", `"ip";r=0;t=12`).has(t, "Retry-After", "12")
				refused.Add(1)
			}
		})
		equal(t, "admitted", admitted.Load(), limit)
		equal(t, "refused", refused.Load(), requests-limit)
		equal(t, "calls of the handler", h.calls.Load(), limit)
	},

	"no request sees another's numbers": func(t *testing.T, h *harness) {
		const users, each = 50, 10
		c := h.serve(t, h.simple(h.limiter(t, core.Policy{core.PerUser(core.PerHour(each))}), User(byUser)))
		var mu sync.Mutex
		left := map[int][]string{}
		atOnce(users*each, func(i int) {
			a := c.do(t, fmt.Sprintf("GET /items/%d", i), fmt.Sprintf("X-User: user-%d", i%users)).is(t, 200)
			mu.Lock()
			defer mu.Unlock()
			left[i%users] = append(left[i%users], a.left()...)
		})
		for user, got := range left {
			slices.Sort(got)
			if want := []string{"user 0", "user 1", "user 2", "user 3", "user 4", "user 5", "user 6", "user 7", "user 8", "user 9"}; !slices.Equal(got, want) {
				t.Errorf("user %d was told %q", user, got)
			}
		}
	},

	"a key outlives the buffer that its request was read into": func(t *testing.T, h *harness) {
		const clients, rounds = 500, 5
		l := h.limiter(t, core.Policy{core.PerKey("client", core.Provided, core.PerHour(1)), core.PerKey("header", core.ByHeader("X-User"), core.PerHour(1))})
		c := h.serve(t, h.simple(l, Key{"client", func(c Call) (string, bool) { return byUser(c), true }}))
		for round := range rounds {
			var admitted atomic.Int64
			atOnce(clients, func(i int) {
				if c.do(t, "GET /x", fmt.Sprintf("X-User: client-%04d", i)).status == 200 {
					admitted.Add(1)
				}
			})
			want := int64(0)
			if round == 0 {
				want = clients
			}
			equal(t, fmt.Sprintf("admitted in round %d", round+1), admitted.Load(), want)
		}
		equal(t, "buckets", h.store.Stats().Entries, 2*clients)
	},
}

// atOnce calls f n times, from goroutines released together.
func atOnce(n int, f func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			f(i)
		})
	}
	start.Done()
	done.Wait()
}
