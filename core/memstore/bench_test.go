package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

const draws = 1 << 18

// drawn is a sequence of a hundred thousand keys, few of them common and most of them rare. Each
// is a string of its own, as a request's is, so that no draw but the one of the bucket misses a cache.
func drawn(level string) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 1, 100_000-1)
	keys := make([]string, draws)
	for i := range keys {
		keys[i] = fmt.Sprintf("1t:shop::%s:1s:%d", level, zipf.Uint64())
	}
	return keys
}

// load is what a benchmark asks of a store: buckets of some levels, whose keys change with each
// request.
type load struct {
	store  *memstore.Store
	limit  core.Limit
	levels [][]string
}

func newLoad(b *testing.B, limit core.Limit, levels ...[]string) *load {
	l := &load{open(b), limit, levels}
	ask := l.asker(0)
	for range draws {
		ask()
	}
	return l
}

func (l *load) asker(i int) func() {
	buckets, out := make([]core.Bucket, len(l.levels)), make([]core.Outcome, len(l.levels))
	for k := range buckets {
		buckets[k] = bucket("", l.limit, 1)
	}
	return func() {
		i = (i + 1) % draws
		for k, keys := range l.levels {
			buckets[k].Key = keys[i]
		}
		_ = l.store.Take(context.Background(), buckets, out)
	}
}

func (l *load) one(b *testing.B) {
	ask := l.asker(0)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

func (l *load) parallel(b *testing.B) {
	var part atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		ask := l.asker(int(part.Add(1)) * 100_003)
		for pb.Next() {
			ask()
		}
	})
}

func BenchmarkTake(b *testing.B) {
	wide := core.Per(1_000_000, time.Second).WithBurst(1_000_000_000)
	hot, ips, users := make([]string, draws), drawn("ip"), drawn("user")
	for i := range hot {
		hot[i] = strings.Clone("1t:shop::global:1s:all")
	}
	b.Run("hot", func(b *testing.B) { newLoad(b, wide, hot).one(b) })
	b.Run("denied", func(b *testing.B) { newLoad(b, core.PerDay(1), hot).one(b) })
	b.Run("zipf", func(b *testing.B) { newLoad(b, wide, ips).one(b) })
	b.Run("zipf/parallel", func(b *testing.B) { newLoad(b, wide, ips).parallel(b) })
	b.Run("three", func(b *testing.B) { newLoad(b, wide, ips, users, hot).one(b) })
	b.Run("three/parallel", func(b *testing.B) { newLoad(b, wide, ips, users, hot).parallel(b) })
	b.Run("three/denied", func(b *testing.B) { newLoad(b, core.PerDay(1), ips, users, hot).one(b) })
}

// Every request of a flood brings a new key: the shards grow, sweep and take what is paid.
func BenchmarkTakeNewKeys(b *testing.B) {
	for name, limit := range map[string]core.Limit{"paid soon": core.Per(1, time.Millisecond), "owed": core.PerHour(1)} {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			buckets, out := []core.Bucket{bucket("", limit, 1)}, make([]core.Outcome, 1)
			key := make([]byte, 0, 32)
			for i := 0; b.Loop(); i++ {
				key = fmt.Appendf(key[:0], "%d", i)
				buckets[0].Key = string(key)
				_ = s.Take(context.Background(), buckets, out)
			}
		})
	}
}
