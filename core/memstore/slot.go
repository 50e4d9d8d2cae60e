package memstore

import (
	"hash/maphash"
	"slices"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// slot is one bucket of a request while its shard is locked.
type slot struct {
	rate  tokenbucket.Rate
	hash  uint64
	shard int
	fresh bool  // it has no entry yet
	spill bool  // and there is no room for one
	stale bool  // what is stored is beyond the time to full, and must be rewritten
	now   int64 // in the rate's ticks
	debt  int64 // in the rate's ticks
}

// held is what a request has locked.
type held struct {
	shards   []int // ascending, each once
	overflow bool
}

// begin finds the buckets, locks their shards and reads what they owe. Shards are locked in
// one order, whatever the order of the buckets, and the clock is read after it: an instant
// read before could be older than what is stored.
func (s *Store) begin(slots []slot, h *held, buckets []core.Bucket) error {
	if s.closed.Load() {
		return core.ErrClosed
	}
	for i := range buckets {
		l := &buckets[i].Limit
		rate, err := tokenbucket.Compile(l.Quota, l.Period, l.Capacity())
		if err != nil {
			return &core.StoreError{Fault: core.FaultRequest, Err: err}
		}
		hash := maphash.String(s.seed, buckets[i].Key)
		slots[i] = slot{rate: rate, hash: hash, shard: int(hash % shardCount)}
		h.shards = append(h.shards, slots[i].shard)
	}
	slices.Sort(h.shards)
	h.shards = slices.Compact(h.shards)
	for _, i := range h.shards {
		s.shards[i].mu.Lock()
	}
	now := s.clock()
	for i := range slots {
		s.read(slots[:i+1], h, &buckets[i], now)
	}
	return nil
}

func (s *Store) end(h *held) {
	if h.overflow {
		s.overflow.mu.Unlock()
	}
	for _, i := range h.shards {
		s.shards[i].mu.Unlock()
	}
}

// read finds what the last of slots owes; those before it have been read.
func (s *Store) read(slots []slot, h *held, b *core.Bucket, now int64) {
	sl := &slots[len(slots)-1]
	sh := &s.shards[sl.shard]
	e, ok := sh.entries[sl.hash]
	if sl.fresh = !ok; sl.fresh && !s.roomFor(slots, sh, now) {
		sl.fresh, sl.spill = false, true
		e, ok = s.spilled(h, b)
	}
	sl.now = sl.rate.Ticks(now)
	if ok {
		sl.owe(e)
	}
}

// roomFor reports whether the shard has room for the last of slots, beside those of the same
// request that will need some too.
func (s *Store) roomFor(slots []slot, sh *shard, now int64) bool {
	wanted := 0
	for i := range slots {
		if slots[i].fresh && slots[i].shard == slots[len(slots)-1].shard {
			wanted++
		}
	}
	if len(sh.entries)+wanted <= s.perShard {
		return true
	}
	s.makeRoom(sh, now)
	return len(sh.entries)+wanted <= s.perShard
}

// spilled reads the overflow bucket, whose lock comes after all shards'.
func (s *Store) spilled(h *held, b *core.Bucket) (entry, bool) {
	if !h.overflow {
		h.overflow = true
		s.overflow.mu.Lock()
	}
	e, ok := s.overflow.entries[overflowOf(b)]
	return e, ok
}

// owe sets the debt from what is stored, which another limit may have written: debt is time.
func (sl *slot) owe(e entry) {
	full := e.full
	if e.perSec != sl.rate.PerSec {
		full = sl.rate.Join(tokenbucket.Rate{PerSec: e.perSec}.Split(full))
	}
	sl.debt = max(full-sl.now, 0)
	sl.stale = sl.debt > sl.rate.Capacity
}

// clamp forgives what is beyond the time to full, once.
func (sl *slot) clamp() {
	if sl.stale {
		sl.debt = sl.rate.Capacity
	}
}

// write stores what the bucket owes now.
func (s *Store) write(sl *slot, b *core.Bucket) {
	e := entry{full: sl.now + sl.debt, perSec: sl.rate.PerSec}
	if sl.spill {
		s.overflow.entries[overflowOf(b)] = e
		return
	}
	entries := s.shards[sl.shard].entries
	before := len(entries)
	if sl.debt > 0 {
		entries[sl.hash] = e
	} else {
		delete(entries, sl.hash)
	}
	if grown := len(entries) - before; grown != 0 {
		s.live.Add(int64(grown))
		if grown > 0 {
			s.janitor.wake(s)
		}
	}
}
