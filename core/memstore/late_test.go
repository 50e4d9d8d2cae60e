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
	limit := core.Per(10, 10*time.Second)
	alone := func(cost int64) []core.Bucket { return []core.Bucket{bucket("b", limit, cost)} }
	among := func(cost int64) []core.Bucket {
		return []core.Bucket{bucket("a", core.PerHour(99), 1), bucket("b", limit, cost), bucket("c", core.PerHour(99), 1)}
	}
	for name, c := range map[string]struct {
		first, then func(cost int64) []core.Bucket
	}{
		"alone": {alone, alone}, "by one among others": {among, alone}, "among others": {alone, among}, "both": {among, among},
	} {
		if err := s.Reset(context.Background(), alone(1)); err != nil {
			t.Fatal(err)
		}
		arm(func() { take(t, s, c.first(5)...) })
		request := c.then(6)
		for i, o := range take(t, s, request...) {
			if request[i].Key == "b" && (o.Admits || o.RetryAfter != time.Second) {
				t.Errorf("%s: %+v, want a second's wait for the sixth unit", name, o)
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
		limit := core.Per(10, 10*time.Second+time.Duration(10*i))
		unit := limit.Period / 10
		arm(func() { take(t, s, bucket(fmt.Sprint("x", i), limit, 5)) })
		request := []core.Bucket{bucket(fmt.Sprint("y", i), limit, 6), bucket("fill0", core.PerHour(1), 1)}
		if o := take(t, s, request...)[0]; o.Admits || o.RetryAfter != unit {
			t.Errorf("%+v, want a wait of %v for the sixth unit", o, unit)
		}
	}
}
