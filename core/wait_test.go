package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// waiting runs f in a bubble where time is fake, with a limiter over an in-process store.
func waiting(t *testing.T, p core.Policy, f func(t *testing.T, l *core.Limiter)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		defer s.Close()
		f(t, limiter(t, s, p))
	})
}

func TestWaitReturnsWhenAdmitted(t *testing.T) {
	waiting(t, core.Policy{core.PerUser(core.PerSecond(1)), core.Global(core.PerMinute(60))}, func(t *testing.T, l *core.Limiter) {
		start := time.Now()
		for i := range 5 {
			d, err := l.Wait(ctx, user("u"))
			if err != nil || !d.Allowed || time.Since(start) != time.Duration(i)*time.Second {
				t.Fatalf("call %d: %+v, %v after %v", i, d, err, time.Since(start))
			}
		}
		if got := left(t, l, user("u"), "global"); got != 59 { // one a second comes back
			t.Errorf("%d left, want 59: waiting has charged", got)
		}
	})
}

func TestWaitersAreAdmittedAtTheRate(t *testing.T) {
	waiting(t, core.Policy{core.PerUser(core.PerSecond(10).WithBurst(1))}, func(t *testing.T, l *core.Limiter) {
		start := time.Now()
		done := make(chan error)
		for range 20 {
			go func() {
				_, err := l.Wait(ctx, user("u"))
				done <- err
			}()
		}
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := time.Since(start); got != 1900*ms {
			t.Errorf("twenty took %v, want 1.9 s", got)
		}
	})
}

func TestWaitReturnsAtOnceWhenTheDeadlineIsTooEarly(t *testing.T) {
	waiting(t, core.Policy{core.PerUser(core.PerMinute(1))}, func(t *testing.T, l *core.Limiter) {
		l.Check(ctx, user("u"))
		start := time.Now()
		short, cancel := context.WithTimeout(ctx, time.Minute-1)
		defer cancel()
		d, err := l.Wait(short, user("u"))
		if !errors.Is(err, context.DeadlineExceeded) || d.Allowed || d.RetryAfter != time.Minute || time.Since(start) != 0 {
			t.Errorf("%+v, %v after %v", d, err, time.Since(start))
		}
		enough, cancel := context.WithTimeout(ctx, time.Minute+1)
		defer cancel()
		if d, err := l.Wait(enough, user("u")); err != nil || !d.Allowed || time.Since(start) != time.Minute {
			t.Errorf("%+v, %v after %v", d, err, time.Since(start))
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	waiting(t, core.Policy{core.PerUser(core.PerMinute(1))}, func(t *testing.T, l *core.Limiter) {
		l.Check(ctx, user("u"))
		start := time.Now()
		why := errors.New("shutting down")
		gone, leave := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { leave(why) })
		d, err := l.Wait(gone, user("u"))
		if !errors.Is(err, why) || d.Allowed || time.Since(start) != time.Second {
			t.Errorf("%+v, %v after %v", d, err, time.Since(start))
		}
	})
}

// A caller that is gone before it is admitted pays nothing.
func TestWaitOfAnEndedContextChargesNothing(t *testing.T) {
	waiting(t, core.Policy{core.PerUser(core.PerMinute(5))}, func(t *testing.T, l *core.Limiter) {
		gone, leave := context.WithCancel(ctx)
		leave()
		if d, err := l.Wait(gone, user("u")); err == nil || d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
		defer cancel()
		if d, err := l.Wait(late, user("u")); !errors.Is(err, context.DeadlineExceeded) || d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		if got := left(t, l, user("u"), "user"); got != 5 {
			t.Errorf("%d left, want 5", got)
		}
	})
}

func TestWaitSaysWhenWaitingDoesNotHelp(t *testing.T) {
	closed := core.PerUser(core.PerHour(1))
	closed.OnFailure = core.Closed
	never, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(5))})
	blocked, _ := limiting(t, core.Policy{core.PerUser(core.BlockAll)})
	for _, c := range []struct {
		l     *core.Limiter
		r     core.Request
		want  string
		cause error
	}{
		{never, cost(user("u"), 6), "never", nil},
		{never, cost(user("u"), -1), "invalid", nil},
		{blocked, user("u"), "never", nil},
		{limiter(t, failing(errAway), core.Policy{closed}), user("u"), "store_failed", errAway},
	} {
		d, err := c.l.Wait(ctx, c.r)
		if err == nil || d.Allowed || !strings.Contains(err.Error(), c.want) || (c.cause != nil && !errors.Is(err, c.cause)) {
			t.Errorf("%s: %+v, %v", c.want, d, err)
		}
	}
	open := core.PerUser(core.PerHour(1))
	open.OnFailure = core.Open
	if d, err := limiter(t, failing(errAway), core.Policy{open}).Wait(ctx, user("u")); err != nil || !d.Allowed {
		t.Errorf("fail-open: %+v, %v", d, err)
	}
}

func TestWaitServesAfterTheDelay(t *testing.T) {
	slow := admits(3, time.Second)
	slow.Delay = 300 * ms
	policy := core.Policy{core.PerKey("a", fixed, core.PerHour(5).With(core.LeakyBucket))}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if d, err := limiter(t, scripted(slow), policy).Wait(ctx, core.Request{}); err != nil || !d.Allowed || time.Since(start) != 300*ms {
			t.Errorf("%+v, %v after %v", d, err, time.Since(start))
		}
		short, cancel := context.WithTimeout(ctx, 200*ms)
		defer cancel()
		s := scripted(slow)
		if d, err := limiter(t, s, policy).Wait(short, core.Request{}); !errors.Is(err, context.DeadlineExceeded) || d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		equal(t, "calls", s.asked(), []string{"Take 1", "Refund 1"})
	})
}
