// Package memstore is the in-process store: what runs where no shared store is given, and the
// local half of one that is.
//
// It is sharded, bounded and exact. An entry is a 64-bit seeded hash of its key and one instant, 16
// bytes in a table that is a quarter to three quarters full while keys come. One that says nothing
// any more (a full bucket) may be dropped at any time, one that owes something never is. Where there is no room, new keys share one overflow bucket for each
// level and period, which Stats counts: the one way in which others' traffic can change a
// decision. Two keys meet in one entry with probability n*n/2^65 for n live keys, and no
// client can aim for it, since the seed is the process's own.
package memstore

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const defaultMaxEntries = 1 << 20

// Store is a core.Store in this process. Make one with New; it is safe for concurrent use.
type Store struct {
	seed     maphash.Seed
	clock    func() int64 // nanoseconds since the store was made
	epoch    int64        // when that was, in nanoseconds since the Unix epoch
	shards   []shard
	shift    int // by which a hash becomes the number of a shard
	perShard int // entries
	deny     bool
	closed   atomic.Bool
	err      error
	_        [64]byte // what is written stays out of the cache lines above, which every request reads
	overflow overflow
	janitor  janitor
}

// Option configures a Store. A wrong one is reported by Err, and so by core.New.
type Option func(*Store) error

// WithMaxEntries bounds how many buckets are remembered at once, 256 or more; the default is
// 1048576. A bucket that is full again needs no entry. A sliding log counts as one for each charge in it
// besides; one that is there may grow to its quota though there is no room for others.
func WithMaxEntries(n int) Option {
	return func(s *Store) error {
		if n < leastShards {
			return fmt.Errorf("max entries is %d, want at least %d", n, leastShards)
		}
		s.divide(n)
		return nil
	}
}

// WithDenyOverflow refuses new keys while there is no room, instead of letting them share.
func WithDenyOverflow() Option {
	return func(s *Store) error {
		s.deny = true
		return nil
	}
}

// WithClock replaces the monotonic clock, for tests.
func WithClock(now func() time.Time) Option {
	return func(s *Store) error {
		if now == nil {
			return errors.New("clock is nil, want a function")
		}
		s.clock, s.epoch = since(now)
		return nil
	}
}

// monotonic counts as since does, and does not read the time of day, which costs as much again.
func monotonic() (clock func() int64, epoch int64) {
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) }, start.UnixNano()
}

// since counts from the clock's first reading: an instant then fits an integer with room to
// spare, and a clock with a monotonic reading is read as one.
func since(now func() time.Time) (clock func() int64, epoch int64) {
	start := now()
	return func() int64 { return int64(now().Sub(start)) }, start.UnixNano()
}

// New makes an empty store.
func New(opts ...Option) *Store {
	s := &Store{seed: maphash.MakeSeed()}
	s.clock, s.epoch = monotonic()
	for _, opt := range opts {
		if err := opt(s); err != nil {
			s.err = errors.Join(s.err, fmt.Errorf("memstore: %w", err))
		}
	}
	if s.shards == nil {
		s.divide(defaultMaxEntries)
	}
	s.overflow.cells, s.overflow.states = make(map[overflowKey]cell), make(map[overflowKey]held)
	return s
}

// Err is the mistake in the options New was given, or nil. core.New and fallback.New ask for it.
func (s *Store) Err() error { return s.err }

// Partition is always "": one process fails as a whole.
func (s *Store) Partition(string) string { return "" }

// Traits tells that the store answers by itself.
func (s *Store) Traits() core.Traits {
	return core.Traits{
		Algorithms: []core.Algorithm{core.TokenBucket, core.LeakyBucket, core.FixedWindow, core.SlidingWindow, core.SlidingLog},
		Shapes:     true,
		Bans:       true,
		Strict:     true, // it is in process
		Local:      true,
	}
}

// Stats counts what the store holds.
type Stats struct {
	Entries    int    // buckets remembered now
	Overflowed uint64 // requests that met an overflow bucket, since the start
}

// Stats reads the counters.
func (s *Store) Stats() Stats {
	return Stats{Entries: s.entries(), Overflowed: s.overflow.met.Load()}
}

// Has reports whether a bucket has an entry of its own. One that has none owes nothing, though Peek may tell of a
// debt: that of the bucket which keys without room share.
func (s *Store) Has(b core.Bucket) bool {
	var sl slot
	if s.aim(&sl, &b, s.clock()) != nil {
		return false
	}
	sh := &s.shards[sl.shard]
	sh.lock()
	defer sh.mu.Unlock()
	return sl.in(sh)
}

// Close ends the sweeper. Closing twice is harmless.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.janitor.stop()
	return nil
}
