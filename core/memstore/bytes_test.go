package memstore_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// heap is what is in use once the garbage is gone.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// flood makes so many keys owe for so long.
func flood(t *testing.T, s *memstore.Store, keys int, d time.Duration) {
	t.Helper()
	b, out := []core.Bucket{bucket("", core.Per(1, d), 1)}, make([]core.Outcome, 1)
	for i := range keys {
		b[0].Key = "user:" + strconv.Itoa(i)
		if err := s.Take(context.Background(), b, out); err != nil || !out[0].Charged {
			t.Fatalf("%+v, %v", out[0], err)
		}
	}
}

func TestBytesPerKey(t *testing.T) {
	const keys = 1_000_000
	for name, entries := range map[string]int{"room for twice as many": 1 << 21, "for many more": 1 << 24} {
		before := heap()
		s := open(t, memstore.WithMaxEntries(entries))
		flood(t, s, keys, time.Hour)
		perKey := float64(heap()-before) / keys
		if n := s.Stats().Entries; n != keys {
			t.Fatalf("%s: %d entries, want %d", name, n, keys)
		}
		if t.Logf("%s: %.1f bytes a key", name, perKey); perKey > 64 {
			t.Errorf("%s: %.1f bytes a key, want at most 64", name, perKey)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What a flood took is given back when it is over, though the store goes on.
func TestMemoryComesBackAfterAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		defer s.Close()
		before := heap()
		flood(t, s, 500_000, time.Second)
		during := heap() - before
		take(t, s, bucket("goes on", core.PerHour(1), 1))
		time.Sleep(10 * time.Second)
		if after := heap() - before; after > during/50 {
			t.Errorf("%d bytes of %d left after the flood", after, during)
		}
	})
}
