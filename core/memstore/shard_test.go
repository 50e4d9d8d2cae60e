package memstore

import (
	"testing"
	"time"
)

// What is remembered stays within the cap, in no shard so large that moving it would be noticed.
func TestShardsAreSmallAndKeepTheCap(t *testing.T) {
	for _, entries := range []int{256, 511, 512, 1 << 20, 1<<21 + 1, 3_000_000, 1 << 24, 1 << 30} {
		var s Store
		s.divide(entries)
		n := len(s.shards)
		if got := n * s.perShard; got > entries || got <= entries-n {
			t.Errorf("%d entries: %d shards of %d", entries, n, s.perShard)
		}
		if s.perShard > 2*fullShard && n < mostShards {
			t.Errorf("%d entries: shards of %d", entries, s.perShard)
		}
		if top := ^uint64(0) >> s.shift; int(top) != n-1 || 64-s.shift < tagBits {
			t.Errorf("%d entries: %d shards by a shift of %d", entries, n, s.shift)
		}
	}
}

// The bits of the hash that chose a shard do not choose the homes in it too.
func TestHomesInAShardAreSpread(t *testing.T) {
	s, _, buckets := crowded(t, 4096, 200)
	homes := map[uint64]bool{}
	for i := range buckets {
		var sl slot
		if err := s.aim(&sl, &buckets[i], s.clock()); err != nil {
			t.Fatal(err)
		}
		homes[sl.hash%1024] = true
	}
	if len(homes) < 150 { // 181 expected
		t.Errorf("%d homes for 200 buckets in 1024 cells", len(homes))
	}
}

// during lets f happen while a request is reading the clock.
func (s *Store) during(f func()) {
	clock := s.clock
	s.clock = func() int64 {
		now := clock()
		s.clock = clock
		f()
		return now
	}
}

// A request that a sweep overtook does not take for new what the sweep found paid at a later instant.
func TestSweepThatOvertakesRefillsNothing(t *testing.T) {
	s, passed, b := crowded(t, 64, 1)
	takeAll(t, s, b[0])
	s.during(func() {
		*passed += time.Second
		s.clean(&s.shards[0])
	})
	if o := takeAll(t, s, b[0])[0]; !o.Charged {
		t.Errorf("%+v, want a charge after a second", o)
	}
	wantDebts(t, s, b[0])
}

// Nor does it so in the overflow buckets; and room that there is by then is used.
func TestSweepOfTheOverflowThatOvertakesRefillsNothing(t *testing.T) {
	s, passed, b := crowded(t, 1, 3)
	takeAll(t, s, b[0])
	takeAll(t, s, b[1])
	*passed += time.Second / 2
	s.during(func() {
		*passed += time.Second / 2
		s.overflow.sweep(s)
	})
	for _, o := range takeAll(t, s, b[1], b[2]) {
		if !o.Charged {
			t.Errorf("%+v, want a charge", o)
		}
	}
	if n := s.Stats().Entries; n != 1 {
		t.Errorf("%d entries, want the one that there is room for", n)
	}
	wantDebts(t, s, b[1], b[2])
}
