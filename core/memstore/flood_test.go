package memstore_test

import (
	"context"
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

var floodKeys = flag.Int("flood", 100_000, "distinct keys of TestFlood; docs/failure.md has 10 million")

// A flood of keys that are seen once, many times as many as there is room for: memory stays what it is at the
// cap, nobody who owes is forgotten, and who has no room gets no more together than one key would.
func TestFlood(t *testing.T) {
	const quota, noise = 5, 64 << 10
	room := min(1<<20, *floodKeys/9&^511) // as many in each shard, and an even number: a log begins with two
	t.Logf("%d keys, room for %d; heap in bytes: at the cap, after all, for a bucket, when each is used up; admitted", *floodKeys, room)
	for a, weight := range map[core.Algorithm]int{core.TokenBucket: 1, core.SlidingWindow: 1, core.SlidingLog: 2} {
		limit, most := core.PerDay(quota).With(a), room/weight
		before := heap()
		s, c := frozen(t, memstore.WithMaxEntries(room))
		debtor := func(i int) core.Bucket { return bucket("debtor:"+strconv.Itoa(i), limit, quota) }
		for i := range room / 1000 {
			take(t, s, debtor(i))
		}
		known := s.Stats().Entries
		f := swarm{store: s, clock: c, limit: limit}
		for s.Stats().Entries < most && f.keys < *floodKeys {
			f.send(t, room/10)
		}
		full := heap() - before
		f.send(t, *floodKeys-f.keys)
		after := heap() - before

		f.useUp(t, s)
		used := heap() - before
		t.Logf("%-14v %10d %10d %6.1f %10d %10d", a, full, after, float64(after)/float64(most), used, f.admitted)
		if n := s.Stats().Entries; n != most {
			t.Errorf("%v: %d buckets, want %d", a, n, most)
		}
		if after > full+full/50+noise {
			t.Errorf("%v: the heap has grown from %d to %d bytes at the cap", a, full, after)
		}
		if want := most - known + quota; f.admitted != want {
			t.Errorf("%v: %d new keys admitted, want %d: one in each bucket, and the %d of the one that the others share", a, f.admitted, want, quota)
		}
		if a != core.SlidingLog && used > full+full/50+noise || used > int64(most*(256+24*quota)) {
			t.Errorf("%v: the heap has grown from %d to %d bytes when each is used up", a, full, used)
		}
		for i := range known {
			if o := peek(t, s, debtor(i)); o.Admits || o.Remaining != 0 {
				t.Fatalf("%v: %s after the flood: %+v, want nothing left", a, debtor(i).Key, o)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// swarm is clients that ask once each for one unit.
type swarm struct {
	store          core.Store
	clock          *clock // goes on by a microsecond with each
	limit          core.Limit
	keys, admitted int
}

// useUp has those that have a bucket of their own spend it, unit by unit.
func (f *swarm) useUp(t *testing.T, s *memstore.Store) {
	t.Helper()
	for i := range f.keys {
		b := bucket("user:"+strconv.Itoa(i+1), f.limit, 1)
		for s.Has(b) && take(t, s, b)[0].Charged {
			f.clock.advance(time.Microsecond)
		}
	}
}

func (f *swarm) send(t *testing.T, n int) {
	t.Helper()
	b, out := []core.Bucket{bucket("", f.limit, 1)}, make([]core.Outcome, 1)
	for range n {
		f.keys++
		b[0].Key = "user:" + strconv.Itoa(f.keys)
		f.clock.advance(time.Microsecond)
		if err := f.store.Take(context.Background(), b, out); err != nil {
			t.Fatal(err)
		}
		if out[0].Charged {
			f.admitted++
		}
	}
}
