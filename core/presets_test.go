package core_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestForPublicAPI(t *testing.T) {
	if l := core.ForPublicAPI(1); l.Validate() != nil || l.Capacity() != 1 {
		t.Errorf("%v, %v", l, l.Validate())
	}
	limit := core.ForPublicAPI(60)
	l, _ := limiting(t, core.Policy{core.PerUser(limit)})
	if got := admitted(l, user("u"), 60); got != 10 {
		t.Errorf("%d at once, want ten seconds' worth", got)
	}
	if got := watch(t, limit).busiest; got != 69 { // its last instant is another's
		t.Errorf("%d in the busiest minute, want 60 and those ten seconds' worth, less one", got)
	}
}

func TestForLogin(t *testing.T) {
	if got := watch(t, core.ForLogin(5, time.Minute)).busiest; got != 5 {
		t.Errorf("%d guesses in the busiest minute, want 5", got)
	}
}

func TestForSMSCode(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.ForSMSCode(time.Minute), core.ForDailyQuota(3, nil))})
	for i := range 3 {
		if d := l.Check(ctx, user("u")); !d.Allowed || d.Delay != 0 {
			t.Fatalf("code %d: %+v", i+1, d)
		}
		c.advance(18 * time.Second)
		if d := l.Check(ctx, user("u")); d.Allowed || (i < 2 && d.RetryAfter != 42*time.Second) {
			t.Errorf("too early: %+v, want a countdown of 42 s", d)
		}
		c.advance(42 * time.Second)
	}
	if d := l.Check(ctx, user("u")); d.Allowed || d.RetryAfter < 23*time.Hour {
		t.Errorf("a fourth on that day: %+v", d)
	}
}

func TestForFileUpload(t *testing.T) {
	const mb = 1 << 20
	l, c := limiting(t, core.Policy{core.PerUser(core.ForFileUpload(10*mb, time.Hour))})
	if d := l.Check(ctx, cost(user("u"), 10*mb+1)); d.Reason != core.Never {
		t.Errorf("a file that is too large: %+v", d)
	}
	d := l.Check(ctx, cost(user("u"), 10*mb))
	if !d.Allowed {
		t.Fatalf("a file of that size: %+v", d)
	}
	settle(t, d, 4*mb)
	if got := left(t, l, user("u"), "user"); got != 6*mb {
		t.Errorf("%d bytes left after four of ten, want six", got)
	}
	c.advance(12 * time.Minute) // a fifth of the hour
	if got := left(t, l, user("u"), "user"); got < 8*mb-mb/1000 || got > 8*mb {
		t.Errorf("%d bytes left later, want two more", got)
	}
}

// Across the edge of a window nothing more passes, and then as much as has faded.
func TestForSearch(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.ForSearch(60))})
	c.set(time.Minute - 300*ms) // the clock of these tests begins at a quarter of a second past a minute
	if got := admitted(l, user("u"), 100); got != 60 {
		t.Errorf("%d at once, want 60", got)
	}
	c.advance(100 * ms)
	if got := admitted(l, user("u"), 100); got != 0 {
		t.Errorf("%d after the edge, want none", got)
	}
	c.advance(30 * time.Second)
	if got := admitted(l, user("u"), 100); got != 30 {
		t.Errorf("%d half a minute later, want half of them", got)
	}
}

func TestForWebhookDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		defer s.Close()
		l := limiter(t, s, core.Policy{core.PerUser(core.ForWebhookDelivery(4, 3))})
		start := time.Now()
		for i := range 3 { // each with a context of its own, as deliveries have
			c, cancel := context.WithTimeout(ctx, time.Minute)
			if d, err := l.Wait(c, user("u")); err != nil || !d.Allowed || time.Since(start) != time.Duration(i)*250*ms {
				t.Errorf("delivery %d: %+v, %v after %v", i+1, d, err, time.Since(start))
			}
			cancel()
		}
		if got := admitted(l, user("u"), 9); got != 2 {
			t.Errorf("%d queued behind the one that is being served, want 2", got)
		}
	})
}

func TestForDailyQuota(t *testing.T) {
	l, c := limiting(t, core.Policy{core.PerUser(core.ForDailyQuota(100, berlin(t)))})
	c.set(time.Unix(1767225600, 0).Add(22 * time.Hour).Sub(epoch)) // 1 January 2026 at 23:00 there
	if got := admitted(l, user("u"), 200); got != 100 {
		t.Errorf("%d admitted, want all of the day at once", got)
	}
	if d := l.Check(ctx, user("u")); d.RetryAfter != time.Hour {
		t.Errorf("%+v, want an hour to midnight", d)
	}
	c.advance(time.Hour)
	if got := admitted(l, user("u"), 200); got != 100 {
		t.Errorf("%d admitted on the next day, want 100", got)
	}
}
