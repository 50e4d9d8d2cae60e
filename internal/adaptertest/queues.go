package adaptertest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// queueCases: leaky buckets of a store whose clock goes.
var queueCases = group{
	"a leaky bucket spaces what comes at once": func(t *testing.T, h *harness) {
		const gap, requests = 50 * time.Millisecond, 6
		var mu sync.Mutex
		var served []time.Time
		l := h.queue(t, gap, requests)
		c := h.serve(t, Service{Mounts: []Mount{{l, nil}}, Routes: []Route{{Method: "GET", Path: "/x", Handler: func(c Call) error {
			mu.Lock()
			served = append(served, time.Now())
			mu.Unlock()
			return h.ok(c)
		}}}})
		began := time.Now()
		atOnce(requests, func(int) { c.do(t, "GET /x").is(t, 200) })
		slices.SortFunc(served, time.Time.Compare)
		for i, at := range served {
			// The first one's instant is after began, and each slot a gap after the one before.
			if took := at.Sub(began); took < time.Duration(i)*gap {
				t.Errorf("number %d was served after %v, want at least %v", i+1, took, time.Duration(i)*gap)
			}
		}
		equal(t, "served", len(served), requests)
	},

	"what a full queue, or one that is too long, refuses takes no slot": func(t *testing.T, h *harness) {
		l := h.queue(t, minute, 3)
		c := h.serve(t, h.simple(l, MaxDelay(time.Second)))
		c.do(t, "GET /x").is(t, 200)
		for range 5 { // the next slot is a minute away
			c.do(t, "GET /x").is(t, 429, "ip 0").has(t, "Retry-After", "59")
		}
		equal(t, "whole minutes to the next slot", next(l), 0)
		for range 2 {
			l.Check(context.Background(), core.Request{IP: loopback})
		}
		c.do(t, "GET /x").is(t, 429, "ip 0").has(t, "Retry-After", "60")
		equal(t, "calls of the handler", h.calls.Load(), 1)
	},

	"a client that leaves the end of the queue leaves its slot to the next": func(t *testing.T, h *harness) {
		h.needs(t, ClientGone)
		l := h.queue(t, minute, 3)
		c := h.serve(t, h.simple(l, MaxDelay(5*minute)))
		c.do(t, "GET /x").is(t, 200)
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			eventually(func() bool { return next(l) == 1 })
			leave()
		}()
		if resp, err := c.send(ctx, "GET /x"); err == nil {
			t.Errorf("it was answered: %s", resp.Status)
			_ = resp.Body.Close()
		}
		eventually(func() bool { return next(l) == 0 })
		equal(t, "whole minutes to the next slot", next(l), 0)
		equal(t, "calls of the handler", h.calls.Load(), 1)
	},
}

// queue is a limiter with a leaky bucket for each address, over a store of its own.
func (h *harness) queue(t *testing.T, gap time.Duration, places int64) *core.Limiter {
	t.Helper()
	s := memstore.New()
	t.Cleanup(func() { _ = s.Close() })
	return limiterOver(t, s, core.Policy{core.PerIP(core.Per(1, gap).WithBurst(places).With(core.LeakyBucket))})
}

// next is how many whole minutes a request from here would wait in the queue.
func next(l *core.Limiter) int {
	return int(l.Peek(context.Background(), core.Request{IP: loopback}).Delay / minute)
}
