package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// overtaken makes a store whose next reading of the clock, once armed, takes so long that what is
// done in between is over before the request that read it goes on.
func overtaken(t *testing.T, opts ...memstore.Option) (s *memstore.Store, arm func(meanwhile func())) {
	var meanwhile func()
	c := &clock{}
	s = open(t, append(opts, memstore.WithClock(func() time.Time {
		now := c.now()
		if f := meanwhile; f != nil {
			meanwhile = nil
			c.advance(900 * time.Millisecond)
			f()
		}
		return now
	}))...)
	return s, func(f func()) { meanwhile = f }
}

// A request that another overtook counts from an instant that is no older than what that one left.
func TestOvertakenRequestReadsTheClockAgain(t *testing.T) {
	s, arm := overtaken(t)
	defer s.Close()
	b := bucket("b", core.PerSecond(1), 1)
	for name, request := range map[string][]core.Bucket{
		"alone":       {b},
		"with others": {bucket("a", core.PerHour(9), 1), b, bucket("c", core.PerHour(9), 1)},
	} {
		if err := s.Reset(context.Background(), []core.Bucket{b}); err != nil {
			t.Fatal(err)
		}
		arm(func() { take(t, s, b) })
		for i, o := range take(t, s, request...) {
			if request[i].Key == "b" && (o.Admits || o.RetryAfter != time.Second) {
				t.Errorf("%s: %+v, want a second's wait", name, o)
			}
		}
	}
}

// Time gives a refund nothing twice: what it gave until another's charge counts.
func TestOvertakenRefundGivesWhatTimeHasNot(t *testing.T) {
	s, arm := overtaken(t)
	defer s.Close()
	b := bucket("b", core.PerSecond(1).WithBurst(2), 1)
	out := take(t, s, b) // paid in a second
	arm(func() { take(t, s, b) })
	if err := s.Refund(context.Background(), []core.Bucket{b}, out); err != nil {
		t.Fatal(err)
	}
	if o := peek(t, s, b); o.Remaining != 1 || o.ResetAfter != time.Second {
		t.Errorf("%+v, want one left and the other in a second: the charge had 0.1 s to go", o)
	}
}

// The bucket that keys without room share has a lock of its own, and is no less exact.
func TestOvertakenRequestWithoutRoomReadsTheClockAgain(t *testing.T) {
	s, arm := overtaken(t, memstore.WithMaxEntries(room))
	defer s.Close()
	fill(t, s, core.PerHour(1))
	for i := range 20 { // in shards of their own, mostly
		limit := core.Per(1, time.Second+time.Duration(i))
		arm(func() { take(t, s, bucket(fmt.Sprint("x", i), limit, 1)) })
		if o := take(t, s, bucket(fmt.Sprint("y", i), limit, 1))[0]; o.Admits || o.RetryAfter != limit.Period {
			t.Errorf("%+v, want a wait of %v", o, limit.Period)
		}
	}
}
