package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func TestWaitByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		start := time.Now()
		if d := spend(t, l); d.RetryAfter != w.next || d.ResetAfter != w.next {
			t.Errorf("the wait is %v, the next unit in %v, want %v", d.RetryAfter, d.ResetAfter, w.next)
		}
		d, err := l.Wait(ctx, user("u"))
		if took := time.Since(start); err != nil || !d.Allowed || took != w.next+w.queue {
			t.Errorf("%+v, %v after %v, want it served after %v", d, err, took, w.next+w.queue)
		}
		if d, again := l.Check(ctx, user("u")), l.Peek(ctx, user("u")); d.Allowed && again.Allowed && again.Remaining == 2 {
			t.Error("waiting charged nothing")
		}
	})
}

// A deadline that is too early is told at once, and one that is just late enough is not.
func TestWaitKnowsTheDeadlineByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		start := time.Now()
		spend(t, l)
		refused := func(early, after time.Duration) {
			t.Helper()
			short, cancel := context.WithDeadline(ctx, start.Add(early))
			defer cancel()
			d, err := l.Wait(short, user("u"))
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || d.Allowed || took != after {
				t.Errorf("%v is too early: %+v, %v after %v", early, d, err, took)
			}
		}
		refused(w.next/2, 0)
		refused(w.next-1, 0)
		if w.queue > 0 { // how long a full queue is shows once there is a place in it
			refused(w.next+w.queue-1, w.next)
		}
		enough, cancel := context.WithDeadline(ctx, start.Add(w.next+w.queue+1))
		defer cancel()
		if d, err := l.Wait(enough, user("u")); err != nil || !d.Allowed || time.Since(start) != w.next+w.queue {
			t.Errorf("%+v, %v after %v: what is too late has left its charge, or this is no different", d, err, time.Since(start))
		}
	})
}

func TestWaitEndsWithItsContextByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		start, why := time.Now(), errors.New("shutting down")
		spend(t, l)
		before := l.Peek(ctx, user("u"))
		gone, leave := context.WithCancelCause(ctx)
		time.AfterFunc(time.Minute, func() { leave(why) })
		d, err := l.Wait(gone, user("u"))
		if !errors.Is(err, why) || d.Allowed || time.Since(start) != time.Minute {
			t.Errorf("%+v, %v after %v", d, err, time.Since(start))
		}
		if after := l.Peek(ctx, user("u")); after.RetryAfter != before.RetryAfter-time.Minute {
			t.Errorf("the wait was %v and is %v a minute later", before.RetryAfter, after.RetryAfter)
		}
	})
}

// Who leaves the queue of a leaky bucket gives the last slot back, and no other.
func TestWaitLeavesTheQueue(t *testing.T) {
	waiting(t, core.Policy{core.PerUser(core.PerHour(3).With(core.LeakyBucket))}, func(t *testing.T, l *core.Limiter) {
		l.Check(ctx, user("u"))
		leave := func(after time.Duration) {
			gone, cancel := context.WithTimeout(ctx, time.Hour)
			time.AfterFunc(after, cancel)
			if d, err := l.Wait(gone, user("u")); !errors.Is(err, context.Canceled) || d.Allowed {
				t.Errorf("%+v, %v", d, err)
			}
		}
		leave(time.Minute) // the last: at 20 minutes
		if d := l.Peek(ctx, user("u")); d.Delay != 19*time.Minute || d.Remaining != 2 {
			t.Errorf("%+v, want the slot that was left", d)
		}
		time.AfterFunc(time.Minute, func() { l.Check(ctx, user("u")) }) // at 40 minutes
		leave(2 * time.Minute)
		if d := l.Peek(ctx, user("u")); d.Allowed || d.RetryAfter != 17*time.Minute {
			t.Errorf("%+v, want the slot in the middle spent, and the queue full", d)
		}
		short, cancel := context.WithTimeout(ctx, 30*time.Minute)
		defer cancel()
		time.Sleep(20 * time.Minute)
		start := time.Now()
		if d, err := l.Wait(short, user("u")); !errors.Is(err, context.DeadlineExceeded) || d.Allowed || time.Since(start) != 0 {
			t.Errorf("%+v, %v after %v: its turn is after its deadline", d, err, time.Since(start))
		}
	})
}
