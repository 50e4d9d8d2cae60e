package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestResetLeavesWhatOthersShare(t *testing.T) {
	s, _ := frozen(t, memstore.WithMaxEntries(room))
	fill(t, s, core.PerSecond(1))
	x, y := bucket("x", core.PerMinute(2), 2), bucket("y", core.PerMinute(2), 1)
	take(t, s, x)
	if err := s.Reset(context.Background(), []core.Bucket{y}); err != nil {
		t.Fatal(err)
	}
	if o := take(t, s, x)[0]; o.Admits {
		t.Errorf("a reset of another key without room refilled what they share: %+v", o)
	}
}

func TestOverflowCanDenyInstead(t *testing.T) {
	s, c := frozen(t, memstore.WithMaxEntries(room), memstore.WithDenyOverflow())
	fill(t, s, core.PerSecond(1))
	o := take(t, s, bucket("late", core.PerMinute(10), 1))[0]
	if o.Admits || o.Charged || o.RetryAfter <= 0 || o.Remaining != 0 || o.ResetAfter != o.RetryAfter {
		t.Errorf("new key without room: %+v, want a denial with a wait and nothing left", o)
	}
	if old := take(t, s, bucket("fill0", core.PerSecond(1), 1))[0]; old.Admits || old.RetryAfter != time.Second {
		t.Errorf("a known key: %+v, want its own state", old)
	}
	c.advance(time.Second)
	if o := take(t, s, bucket("late", core.PerMinute(10), 1))[0]; !o.Admits || o.Remaining != 9 {
		t.Errorf("with room again: %+v", o)
	}
}

func TestOverflowKeepsDebtWhenThePolicyChangesAndIsSwept(t *testing.T) {
	s, c := frozen(t, memstore.WithMaxEntries(room))
	fill(t, s, core.PerHour(1))
	take(t, s, bucket("z", core.PerMinute(1), 1))
	if o := take(t, s, bucket("z", core.PerMinute(1).WithBurst(2), 2))[0]; o.Admits {
		t.Errorf("a change of burst refilled the overflow bucket: %+v", o)
	}
	c.advance(2 * time.Hour)
	deadline := time.Now().Add(20 * time.Second)
	for s.Stats().Entries > 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if n := s.Stats().Entries; n != 0 {
		t.Errorf("%d entries after all is paid off", n)
	}
}

func TestKeysWithoutRoomShareOneCountedBucket(t *testing.T) {
	s, c := frozen(t, memstore.WithMaxEntries(room))
	fill(t, s, core.PerHour(1))
	before := s.Stats().Overflowed
	limit := core.PerMinute(10)
	admitted := 0
	for i := range 30 {
		if take(t, s, bucket(fmt.Sprint("late", i), limit, 1))[0].Admits {
			admitted++
		}
	}
	if admitted != 10 {
		t.Errorf("%d new keys admitted, want the 10 of one shared bucket", admitted)
	}
	if got := s.Stats().Overflowed - before; got != 30 {
		t.Errorf("%d requests counted, want 30", got)
	}
	// Another level, and another period of this level, have a bucket of their own.
	other := bucket("x", limit, 10)
	other.Level = "tenant"
	if !take(t, s, other)[0].Admits || !take(t, s, bucket("y", core.PerHour(11), 11))[0].Admits {
		t.Error("a full overflow bucket refuses another level or period")
	}
	// It refills like any other.
	c.advance(6 * time.Second)
	if a, b := take(t, s, bucket("z", limit, 1))[0].Admits, take(t, s, bucket("z", limit, 1))[0].Admits; !a || b {
		t.Errorf("after one unit's time: admitted %v, %v, want one of two", a, b)
	}
}

func TestOnlyEntriesAreABucketsOwn(t *testing.T) {
	s, c := frozen(t, memstore.WithMaxEntries(room))
	for _, l := range []core.Limit{core.PerMinute(10), core.PerMinute(10).With(core.SlidingLog)} {
		b := bucket("b"+l.Algorithm.String(), l, 1)
		if s.Has(b) {
			t.Errorf("%v: an entry of a key never seen", l)
		}
		take(t, s, b)
		if !s.Has(b) {
			t.Errorf("%v: no entry of what was charged", l)
		}
	}
	fill(t, s, core.PerHour(1))
	late := bucket("late", core.PerMinute(10), 10)
	take(t, s, late)
	if o := peek(t, s, late); o.Remaining != 0 || s.Has(late) {
		t.Errorf("%+v, has an entry: %v; want the debt of a shared bucket", o, s.Has(late))
	}
	c.advance(time.Hour)
	late.Cost = 1
	if take(t, s, late); !s.Has(late) {
		t.Error("no entry though there is room again")
	}
}
