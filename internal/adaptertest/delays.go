package adaptertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const minute = time.Minute

// delayCases: a decision that says "later" is waited out, within reason.
var delayCases = group{
	"a delay is waited out before the handler runs": func(t *testing.T, h *harness) {
		const delay = 60 * time.Millisecond
		store := delaying(delay)
		c := h.serve(t, h.simple(limiterOver(t, store, core.Policy{core.PerIP(core.PerMinute(10))})))
		began := time.Now()
		c.do(t, "GET /x").is(t, 200, "ip 5").has(t, "Retry-After", "")
		if took := time.Since(began); took < delay {
			t.Errorf("it took %v, want at least %v", took, delay)
		}
		equal(t, "calls of the handler", h.calls.Load(), 1)
		equal(t, "charges given back", store.refunds.Load(), 0)
	},

	"a delay above WithMaxDelay is refused at once and its slot given back": func(t *testing.T, h *harness) {
		for most, want := range map[time.Duration]string{minute: "59", time.Minute + 58500*time.Millisecond: "1", 0: "119"} {
			h.calls.Store(0)
			store := delaying(2*time.Minute - time.Second)
			c := h.serve(t, h.simple(limiterOver(t, store, core.Policy{core.PerIP(core.PerMinute(10))}), MaxDelay(most)))
			a := c.do(t, "GET /x").is(t, 429).has(t, "Retry-After", want).has(t, "Content-Type", core.ProblemType)
			if !strings.Contains(a.body, `"violated-policies":["ip"]`) {
				t.Errorf("%v: want the level that delays to be named", a)
			}
			equal(t, "calls of the handler", h.calls.Load(), 0)
			equal(t, "charges given back", store.refunds.Load(), 1)
		}
	},

	"the most that is waited is a second, unless WithMaxDelay says otherwise": func(t *testing.T, h *harness) {
		c := h.serve(t, h.simple(limiterOver(t, delaying(time.Second+time.Millisecond), core.Policy{core.PerIP(core.PerMinute(10))})))
		c.do(t, "GET /x").is(t, 429).has(t, "Retry-After", "1")
		c = h.serve(t, h.simple(limiterOver(t, delaying(time.Second), core.Policy{core.PerIP(core.PerMinute(10))})))
		c.do(t, "GET /x").is(t, 200)
	},

	"one limiter mounted twice waits once": func(t *testing.T, h *harness) {
		const delay = 400 * time.Millisecond
		l := limiterOver(t, delaying(delay), core.Policy{core.PerIP(core.PerMinute(10))})
		c := h.serve(t, h.onRoute(mounts(l), mounts(l), mounts(l)))
		began := time.Now()
		c.do(t, "GET /g/x").is(t, 200)
		if took := time.Since(began); took < delay || took >= 3*delay {
			t.Errorf("it took %v, want %v and not three times that", took, delay)
		}
	},

	"a client that leaves while it waits gives its slot back": func(t *testing.T, h *harness) {
		h.needs(t, ClientGone)
		store, ctx := delaying(minute), t.Context()
		ctx, leave := context.WithCancel(ctx)
		asked, answer := make(chan struct{}), store.take
		store.take = func(ctx context.Context, out []core.Outcome) error {
			defer close(asked)
			return answer(ctx, out)
		}
		c := h.serve(t, h.simple(limiterOver(t, store, core.Policy{core.PerIP(core.PerMinute(10))}), MaxDelay(2*minute)))
		go func() {
			select {
			case <-asked:
			case <-time.After(soon):
			}
			leave()
		}()
		if resp, err := c.send(ctx, "GET /x"); err == nil {
			t.Errorf("it was answered: %s", resp.Status)
			_ = resp.Body.Close()
		}
		eventually(func() bool { return store.refunds.Load() > 0 })
		equal(t, "charges given back", store.refunds.Load(), 1)
		equal(t, "calls of the handler", h.calls.Load(), 0)
	},
}
