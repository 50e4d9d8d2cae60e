package core_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func TestPeekByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		for n := int64(3); n >= 0; n-- {
			for range 3 {
				if d := l.Peek(ctx, user("u")); d.Remaining != n || d.Allowed != (n > 0) || (n == 0 && d.RetryAfter != w.next) {
					t.Errorf("with %d left: %+v", n, d)
				}
			}
			l.Check(ctx, user("u"))
		}
		if d := l.Peek(ctx, cost(user("v"), w.limit.Capacity()+1)); d.Allowed || d.Reason != core.Never {
			t.Errorf("a cost above what it can hold: %+v", d)
		}
	})
}

// A bucket that does not start full is full after a reset, as the other limits are.
func TestResetByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		spend(t, l)
		if err := l.Reset(ctx, user("u")); err != nil {
			t.Fatal(err)
		}
		if d := l.Peek(ctx, user("u")); !d.Allowed || d.Remaining != w.limit.Capacity() || d.Delay != 0 || d.ResetAfter != 0 {
			t.Errorf("after a reset: %+v", d)
		}
	})
}

// The last charge comes back whole, once, in every way.
func TestRefundByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, _ way, l *core.Limiter) {
		l.Check(ctx, user("u"))
		time.Sleep(time.Minute)
		d := l.Check(ctx, cost(user("u"), 2))
		if !d.Allowed || d.Remaining != 0 {
			t.Fatalf("%+v", d)
		}
		refund(t, d)
		refund(t, d)
		settle(t, d, 0)
		if got := l.Peek(ctx, user("u")); got.Remaining != 2 {
			t.Errorf("%+v after a refund of the last two, want two left", got)
		}
	})
}

// A charge that time has given back is not given back a second time.
func TestRefundAfterTimeByEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
		d := l.Check(ctx, cost(user("u"), 2))
		time.Sleep(2*w.next + 2*w.limit.Period)
		l.Check(ctx, user("u"))
		before := l.Peek(ctx, user("u"))
		refund(t, d)
		if after := l.Peek(ctx, user("u")); after.Remaining != before.Remaining || after.ResetAfter != before.ResetAfter {
			t.Errorf("a late refund made of\n%+v\nthis\n%+v", before, after)
		}
	})
}

func TestSettleByEveryWay(t *testing.T) {
	for actual, want := range map[int64]int64{0: 3, 1: 2, 2: 1, 3: 0, 1000: 0} {
		everyWay(t, func(t *testing.T, w way, l *core.Limiter) {
			d := l.Check(ctx, cost(user("u"), 2))
			settle(t, d, actual)
			settle(t, d, 0)
			refund(t, d)
			got := l.Peek(ctx, user("u"))
			if got.Remaining != want || got.RetryAfter > w.next || got.Allowed != (want > 0) {
				t.Errorf("settled for %d: %+v, want %d left and no wait above %v", actual, got, want, w.next)
			}
		})
	}
}
