package fallback

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tierlimit/tierlimit/core"
)

const (
	ledgerShards = 64
	// mostOwing bounds how many buckets an outage can touch that are charged after it: some 20 MiB.
	mostOwing = 1 << 16
)

// ledger notes which buckets were decided locally while their node was out, and what each owed
// when that began. What it owes at the end beyond that was admitted here.
type ledger struct {
	seed   maphash.Seed
	shards [ledgerShards]struct {
		mu      sync.Mutex
		entries map[string]*owing
	}
	size   atomic.Int64
	missed atomic.Uint64 // buckets that found no room
	seen   atomic.Pointer[marks]
}

// marks has a bit for each bucket that found no room, by its hash: of a million buckets a third share one.
type marks [1 << 14]atomic.Uint64

// owing is one bucket.
type owing struct {
	bucket core.Bucket // of the shared store
	node   string      // that is out, or was
	base   int64       // the instant at which the local one would be full, had nothing been admitted
}

func (l *ledger) at(key string) (mu *sync.Mutex, entries *map[string]*owing) {
	sh := &l.shards[maphash.String(l.seed, key)%ledgerShards]
	return &sh.mu, &sh.entries
}

// enter notes a bucket unless it is noted already. begin is called before anybody can charge the bucket,
// and tells its node and when the local one would be full.
func (l *ledger) enter(b *core.Bucket, begin func() (node string, base int64)) {
	mu, entries := l.at(b.Key)
	mu.Lock()
	defer mu.Unlock()
	if _, ok := (*entries)[b.Key]; ok {
		return
	}
	e := &owing{bucket: *b}
	e.node, e.base = begin()
	if l.size.Load() >= mostOwing {
		l.miss(b.Key)
		return
	}
	if *entries == nil {
		*entries = map[string]*owing{}
	}
	e.bucket.Key, e.bucket.Level = strings.Clone(b.Key), strings.Clone(b.Level)
	(*entries)[e.bucket.Key] = e
	if l.size.Add(1) == 1 {
		l.seen.Store(nil) // another outage
	}
}

// miss counts a bucket that found no room, once in an outage.
func (l *ledger) miss(key string) {
	seen := l.seen.Load()
	if seen == nil {
		l.seen.CompareAndSwap(nil, new(marks))
		if seen = l.seen.Load(); seen == nil {
			return
		}
	}
	hash := maphash.String(l.seed, key)
	if bit := uint64(1) << (hash % 64); seen[hash/64%uint64(len(seen))].Or(bit)&bit == 0 {
		l.missed.Add(1)
	}
}

// has reports whether a bucket is noted.
func (l *ledger) has(key string) bool {
	if l.size.Load() == 0 {
		return false
	}
	mu, entries := l.at(key)
	mu.Lock()
	defer mu.Unlock()
	_, ok := (*entries)[key]
	return ok
}

// leaveOut makes what a bucket was charged count as owed before: it may have been charged in the
// shared store.
func (l *ledger) leaveOut(key string, charge int64) {
	if l.size.Load() == 0 {
		return
	}
	mu, entries := l.at(key)
	mu.Lock()
	defer mu.Unlock()
	if e, ok := (*entries)[key]; ok {
		e.base += charge
	}
}

// forget drops a bucket.
func (l *ledger) forget(key string) {
	if l.size.Load() == 0 {
		return
	}
	mu, entries := l.at(key)
	mu.Lock()
	defer mu.Unlock()
	if _, ok := (*entries)[key]; ok {
		delete(*entries, key)
		l.size.Add(-1)
	}
}

// each calls f for every bucket, which is dropped if f says so. f must not come back here.
func (l *ledger) each(f func(*owing) (drop bool)) {
	for i := range l.shards {
		sh := &l.shards[i]
		sh.mu.Lock()
		for key, e := range sh.entries {
			if f(e) {
				delete(sh.entries, key)
				l.size.Add(-1)
			}
		}
		sh.mu.Unlock()
	}
}
