package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// atomicity: all buckets of a Take are charged, or none.
var atomicity = map[string]func(*testing.T, *harness){
	"a refusal charges nowhere, in every order": func(t *testing.T, h *harness) {
		ip, user, endpoint := bucket("ip", core.PerMinute(100)), bucket("user", core.PerMinute(1)), bucket("endpoint", core.PerMinute(10))
		orders := [][]core.Bucket{{ip, user, endpoint}, {user, endpoint, ip}, {endpoint, ip, user}, {user, ip, endpoint}}
		h.take(t, orders[0]...)
		for _, order := range orders {
			for i, o := range h.take(t, order...) {
				equal(t, order[i].Level+" admits", o.Admits, order[i].Level != "user")
				equal(t, order[i].Level+" charged", o.Charged, false)
			}
		}
		equal(t, "ip left", h.left(t, ip), 99)
		equal(t, "user left", h.left(t, user), 0)
		equal(t, "endpoint left", h.left(t, endpoint), 9)
	},

	"a shadow bucket is charged when it alone admits, and never denies": func(t *testing.T, h *harness) {
		wide, narrow := shadow(bucket("shadow", core.PerMinute(10))), bucket("narrow", core.PerMinute(1))
		for range 3 {
			h.take(t, wide, narrow)
		}
		equal(t, "shadow left", h.left(t, wide), 7)
		empty := shadow(bucket("empty", core.PerMinute(1)))
		other := bucket("other", core.PerMinute(10))
		for range 3 {
			equal(t, "other charged", h.take(t, empty, other)[1].Charged, true)
		}
		equal(t, "empty shadow admits", h.take(t, empty, other)[0].Admits, false)
	},

	"a cost above capacity is never admitted and charges nowhere": func(t *testing.T, h *harness) {
		small, wide := bucket("small", core.PerMinute(5)), bucket("wide", core.PerMinute(100))
		out := h.take(t, costing(small, 10), costing(wide, 10))
		equal(t, "small admits", out[0].Admits, false)
		equal(t, "small remaining", out[0].Remaining, 5)
		equal(t, "wide charged", out[1].Charged, false)
		equal(t, "wide left", h.left(t, wide), 100)
		out = h.take(t, costing(small, 1<<60))
		equal(t, "huge cost admitted", out[0].Admits, false)
	},

	"exactly the capacity of a fresh key, however many ask at once": func(t *testing.T, h *harness) {
		buckets := []core.Bucket{bucket("ip", core.PerHour(50)), bucket("user", core.PerHour(200)), bucket("endpoint", core.PerHour(1000))}
		var mu sync.Mutex
		var wg sync.WaitGroup
		admitted, start := 0, make(chan struct{})
		for range 200 {
			wg.Go(func() {
				<-start
				out := make([]core.Outcome, len(buckets))
				if err := h.Store.Take(context.Background(), buckets, out); err != nil {
					t.Errorf("Take: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if out[0].Charged {
					admitted++
				}
			})
		}
		close(start)
		wg.Wait()
		equal(t, "admitted", admitted, 50)
		equal(t, "user left", h.left(t, buckets[1]), 150)
		equal(t, "endpoint left", h.left(t, buckets[2]), 950)
	},

	"many buckets in one call": func(t *testing.T, h *harness) {
		var buckets []core.Bucket
		for i := range 20 {
			buckets = append(buckets, bucket(string(rune('a'+i)), core.PerMinute(int64(i+1))))
		}
		for i, o := range h.take(t, buckets...) {
			equal(t, "remaining of "+buckets[i].Level, o.Remaining, int64(i))
		}
		equal(t, "second call charged", h.take(t, buckets...)[19].Charged, false)
	},
}
