package memstore

import (
	"math/bits"
	"sync"
	"time"
)

const (
	// leastShards is many more than cores, so that two requests rarely meet in one.
	leastShards = 256
	// mostShards bounds what an empty store takes.
	mostShards = 1 << 16
	// fullShard is how many buckets a shard has before there are more shards instead: to move
	// that many into a larger table is nothing that a request would notice.
	fullShard = 1 << 13
)

const (
	// sweepEvery bounds how often a lack of room may cost a pass over a shard.
	sweepEvery = int64(100 * time.Millisecond)
	// spins is how often a locked shard is tried before its lock is waited for.
	spins = 100
)

// shard is some of the buckets and their lock, in a cache line of its own.
type shard struct {
	mu sync.Mutex
	table
	seen  int64 // the instant of the latest request or sweep: what is stored may be as young
	swept int64 // when a lack of room last led to a sweep
	wide  *wide // nil: none
}

// size is how many entries the shard's buckets count as.
func (sh *shard) size() int { return sh.n + sh.wide.size() }

func (sh *shard) setWide(hash uint64, h held) (first bool) {
	if sh.wide == nil {
		sh.wide = &wide{states: make(map[uint64]held)}
	}
	sh.wide.drop(hash)
	sh.wide.states[hash] = h
	sh.wide.weight += h.weight()
	return sh.n == 0 && len(sh.wide.states) == 1
}

// sweepAll drops what says nothing any more.
func (s *Store) sweepAll(sh *shard, now int64) {
	sh.sweep(now)
	if sh.wide != nil {
		sh.wide.sweep(s.epoch + now)
		if len(sh.wide.states) == 0 {
			sh.wide = nil
		}
	}
}

// divide makes the shards for so many buckets; which one a bucket is in, the top of its hash says.
func (s *Store) divide(entries int) {
	n := leastShards
	for n < mostShards && entries/n > fullShard {
		n *= 2
	}
	s.shards = make([]shard, n)
	s.perShard = entries / n
	s.shift = 64 - bits.TrailingZeros(uint(n))
}

// makeRoom sweeps a shard that is full, now and then.
func (s *Store) makeRoom(sh *shard, now int64) {
	if sh.swept != 0 && now >= sh.swept && now-sh.swept < sweepEvery {
		return
	}
	sh.swept = now
	s.sweepAll(sh, now)
}

func (sh *shard) lock() {
	if !sh.mu.TryLock() {
		sh.wait()
	}
}

// wait tries for about as long as a decision takes before it waits as a mutex does, which pauses
// for many times that.
func (sh *shard) wait() {
	for range spins {
		if sh.mu.TryLock() {
			return
		}
	}
	sh.mu.Lock()
}

// clean is the janitor's visit. It reports how many buckets are left.
func (s *Store) clean(sh *shard) int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.seen = s.clock()
	s.sweepAll(sh, sh.seen)
	sh.shrink()
	return sh.n + sh.wide.count()
}

func (sh *shard) count() int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.n + sh.wide.count()
}

// entries is how many buckets are remembered now.
func (s *Store) entries() (n int) {
	for i := range s.shards {
		n += s.shards[i].count()
	}
	return n
}
