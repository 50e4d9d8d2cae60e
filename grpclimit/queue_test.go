package grpclimit_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/grpclimit"
)

// queue is a limiter with a leaky bucket over a store whose clock goes.
func queue(t *testing.T, gap time.Duration, places int64) *core.Limiter {
	t.Helper()
	s := memstore.New()
	t.Cleanup(func() { _ = s.Close() })
	return limiter(t, s, core.Policy{core.Global(core.Per(1, gap).WithBurst(places).With(core.LeakyBucket))})
}

func TestLeakyBucketSpacesCalls(t *testing.T) {
	const gap, n = 50 * time.Millisecond, 6
	var s service
	conn := dial(t, s.start(t, behind(queue(t, gap, n))...))
	began := time.Now()
	var all sync.WaitGroup
	took := make([]time.Duration, n)
	for i := range took {
		all.Go(func() {
			do(t, conn, say).is(t, codes.OK)
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	slices.Sort(took)
	for i, d := range took {
		if d < time.Duration(i)*gap {
			t.Errorf("answer %d came after %v, want at least %v", i+1, d, time.Duration(i)*gap)
		}
	}
}

// The slot at the end of the queue goes to the next caller when its own leaves, or has no time for it.
func TestWhoLeavesTheQueueLeavesItsSlot(t *testing.T) {
	l := queue(t, time.Minute, 3)
	next := func() time.Duration { return l.Peek(context.Background(), core.Request{}).Delay }
	var s service
	conn := dial(t, s.start(t, behind(l, grpclimit.WithMaxDelay(time.Hour))...))
	do(t, conn, say).is(t, codes.OK)

	short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began := time.Now()
	doContext(short, conn, say).is(t, codes.DeadlineExceeded)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a deadline that is too early was told after %v", took)
	}
	if d := next(); d <= 0 || d > time.Minute {
		t.Errorf("the next slot is in %v, want the one that was given back", d)
	}

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	left := make(chan answer, 1)
	go func() { left <- doContext(ctx, conn, say) }()
	eventually(t, "a second call in the queue", func() bool { return next() > time.Minute })
	leave()
	(<-left).is(t, codes.Canceled)
	eventually(t, "its slot given back", func() bool { d := next(); return d > 0 && d <= time.Minute })
	equal(t, "handlers run", s.calls.Load(), 1)
}
