package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

const room = 512

// fill makes so many keys owe that there is no room left, whatever their hashes.
func fill(t testing.TB, s *memstore.Store, l core.Limit) {
	t.Helper()
	for i := range 40 * room {
		take(t, s, core.Bucket{Key: fmt.Sprint("fill", i), Limit: l, Cost: 1, Level: "filler"})
	}
}

func TestEntriesNeverExceedTheCap(t *testing.T) {
	s, _ := frozen(t, memstore.WithMaxEntries(room))
	fill(t, s, core.PerHour(5))
	if got := s.Stats(); got.Entries != room || got.Overflowed == 0 {
		t.Errorf("%+v, want %d entries and some overflow", got, room)
	}
}

// A request of several buckets is no way around the cap.
func TestEntriesOfOneRequestKeepToTheCap(t *testing.T) {
	s, _ := frozen(t, memstore.WithMaxEntries(room))
	for i := range 20 * room {
		var b [6]core.Bucket
		for j := range b {
			b[j] = bucket(fmt.Sprint(i, "/", j), core.PerHour(1_000_000), 1)
		}
		take(t, s, b[:]...)
	}
	if got := s.Stats(); got.Entries > room {
		t.Errorf("%+v, want at most %d entries", got, room)
	}
}

func TestChargeOnTheSharedBucketCanBeGivenBack(t *testing.T) {
	s, _ := frozen(t, memstore.WithMaxEntries(room))
	fill(t, s, core.PerHour(1))
	b := bucket("late", core.PerMinute(10), 4)
	out := take(t, s, b)
	if got := peek(t, s, b).Remaining; got != 6 {
		t.Fatalf("%d left, want 6", got)
	}
	if err := s.Refund(context.Background(), []core.Bucket{b}, out); err != nil {
		t.Fatal(err)
	}
	if got := peek(t, s, b).Remaining; got != 10 {
		t.Errorf("%d left after the refund, want 10", got)
	}
}

// What was charged in the shared bucket is not given back in an entry that the key got later, nor
// the other way round.
func TestRefundDoesNotCrossIntoTheSharedBucket(t *testing.T) {
	s, c := frozen(t, memstore.WithMaxEntries(room))
	fill(t, s, core.PerSecond(1))
	b := bucket("late", core.PerMinute(10), 4)
	shared := take(t, s, b)
	c.advance(time.Second) // the fillers are gone
	own := take(t, s, b)
	if got := own[0].Remaining; got != 6 {
		t.Fatalf("%d left in its own entry, want 6", got)
	}
	if err := s.Refund(context.Background(), []core.Bucket{b}, shared); err != nil {
		t.Fatal(err)
	}
	if got := peek(t, s, b).Remaining; got != 6 {
		t.Errorf("%d left, want 6: the refund was another bucket's", got)
	}
}

func TestWhatWasNotChargedIsNotGivenBack(t *testing.T) {
	s, c := frozen(t)
	c.advance(-time.Minute) // an instant before the store was made
	b := bucket("a", core.PerSecond(5), 5)
	take(t, s, b)
	denied := take(t, s, b)
	if err := s.Refund(context.Background(), []core.Bucket{b}, denied); err != nil {
		t.Fatal(err)
	}
	if got := peek(t, s, b).Remaining; got != 0 {
		t.Errorf("%d left, want 0", got)
	}
}

// Under any pressure of new keys, who owes goes on owing.
func TestLiveDebtIsNeverDropped(t *testing.T) {
	s, c := frozen(t, memstore.WithMaxEntries(room))
	limit := core.PerMinute(60)
	var debtors []core.Bucket
	for i := range room / 8 {
		b := bucket(fmt.Sprint("debtor", i), limit, 60)
		if take(t, s, b); s.Stats().Overflowed > 0 {
			break // this one met a full shard
		}
		debtors = append(debtors, b)
	}
	if len(debtors) < 8 {
		t.Skip("the seed put the debtors into one shard")
	}
	for i := range 59 { // one second less than they need
		for j := range room {
			take(t, s, bucket(fmt.Sprint("new", i, "/", j), core.Per(1, time.Millisecond), 1))
		}
		c.advance(time.Second)
	}
	for _, b := range debtors {
		if o := peek(t, s, b); o.Admits || o.RetryAfter != time.Second || o.Remaining != 59 {
			t.Fatalf("%s after 59 of 60 s: %+v, want one unit missing", b.Key, o)
		}
	}
}

// What is given back, reset or paid needs no memory.
func TestFullBucketsHaveNoEntry(t *testing.T) {
	s, _ := frozen(t)
	b := bucket("a", core.PerHour(5), 5)
	for name, giveBack := range map[string]func([]core.Outcome) error{
		"refund": func(out []core.Outcome) error { return s.Refund(context.Background(), []core.Bucket{b}, out) },
		"reset":  func([]core.Outcome) error { return s.Reset(context.Background(), []core.Bucket{b}) },
	} {
		out := take(t, s, b)
		if got := s.Stats().Entries; got != 1 {
			t.Fatalf("%d entries, want 1", got)
		}
		if err := giveBack(out); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats().Entries; got != 0 {
			t.Errorf("%d entries after the %s, want 0", got, name)
		}
	}
}

// A burst so large that a bucket is counted in coarser ticks meets, after a change of policy, what
// was counted in fine ones, and the other way round.
func TestDebtOutlivesAChangeOfResolution(t *testing.T) {
	s, c := frozen(t)
	c.advance(time.Minute)
	limit := core.Per(1, 1000*time.Second)
	ns, us, ms := limit.WithBurst(1000), limit.WithBurst(1e9), limit.WithBurst(1e12)
	for i, l := range []core.Limit{ns, us, ms, us, ns, ms, ns} {
		o := take(t, s, bucket("a", l, 10))[0]
		if owed, want := l.Burst-o.Remaining, int64(10*(i+1)); !o.Admits || owed != want {
			t.Errorf("step %d, %v: %d owed, want %d", i, l, owed, want)
		}
	}
}

// A bucket that has paid makes room at once: a full store does not have to wait for a sweep.
func TestPaidBucketsMakeRoom(t *testing.T) {
	s, c := frozen(t, memstore.WithMaxEntries(room))
	fill(t, s, core.PerSecond(1))
	c.advance(time.Second)
	before := s.Stats().Overflowed
	for i := range room / 16 {
		take(t, s, bucket(fmt.Sprint("new", i), core.PerHour(5), 1))
	}
	if got := s.Stats().Overflowed - before; got > 4 { // some may meet in one shard
		t.Errorf("%d of %d new keys found no room among paid buckets", got, room/16)
	}
}

func TestWrongOptionsAreReported(t *testing.T) {
	for name, s := range map[string]*memstore.Store{
		"max entries": memstore.New(memstore.WithMaxEntries(255)),
		"clock":       memstore.New(memstore.WithClock(nil)),
	} {
		if err := s.Err(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := core.New(s, core.Policy{core.Global(core.PerSecond(1))}); err == nil {
			t.Errorf("%s: core.New takes the store", name)
		}
	}
}

// A limit so slow that it is counted in coarser ticks leaves a debt that the next one must see.
func TestChangeOfResolutionForgivesNothing(t *testing.T) {
	for _, cost := range []int64{2e9, 1e10, 3e10, 1e11, 4e11, 1e12} {
		s, _ := frozen(t)
		take(t, s, bucket("a", core.PerHour(1).WithBurst(1e12), cost))
		if o := take(t, s, bucket("a", core.PerHour(1).WithBurst(10), 1))[0]; o.Admits || o.RetryAfter != time.Hour {
			t.Errorf("cost %d: %+v, want a refusal for an hour", cost, o)
		}
	}
}
