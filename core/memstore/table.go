package memstore

import (
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// shardCount is many more than cores, so that two requests rarely meet in one.
const shardCount = 256

// sweepEvery bounds how often a lack of room may cost a pass over a shard.
const sweepEvery = int64(100 * time.Millisecond)

type shard struct {
	mu      sync.Mutex
	entries map[uint64]entry
	swept   int64 // when a lack of room last led to a sweep
	_       [40]byte
}

// entry is a bucket: the instant, in ticks since the store was made, at which it will be full.
type entry struct {
	full   int64
	perSec int64 // ticks in a second
}

func (e entry) owes(now int64) bool { return e.full > tokenbucket.Rate{PerSec: e.perSec}.Ticks(now) }

// makeRoom sweeps a shard that is full, now and then.
func (s *Store) makeRoom(sh *shard, now int64) {
	if sh.swept != 0 && now >= sh.swept && now-sh.swept < sweepEvery {
		return
	}
	sh.swept = now
	s.sweep(sh, now)
}

// sweep drops the entries that owe nothing. The shard is locked.
func (s *Store) sweep(sh *shard, now int64) {
	before := len(sh.entries)
	for hash, e := range sh.entries {
		if !e.owes(now) {
			delete(sh.entries, hash)
		}
	}
	s.live.Add(int64(len(sh.entries) - before))
}
