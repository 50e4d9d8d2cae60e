package redisstore

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/counter"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

const (
	memoryWays   = 4 // places that one bucket can be remembered in
	memoryGroups = 1 << 12
)

// memories take 512 KiB, from the first denial on. A bucket may be remembered in any place of one group.
type memories [memoryGroups][memoryWays]memory

// place is where a bucket is remembered, or else what it takes the place of: the oldest.
func (table *memories) place(hash uint64) (m *memory, known bool) {
	group := &table[hash>>8%memoryGroups]
	oldest := &group[0]
	for i := range group {
		if _, ok := group[i].load(hash); ok {
			return &group[i], true
		}
		if group[i].since.Load() < oldest.since.Load() {
			oldest = &group[i]
		}
	}
	return oldest, false
}

// memory is four words that are read and written without a lock: check is the others and the
// bucket's hash, so that a torn one is found out.
type memory struct {
	check, full, since, late atomic.Uint64
}

// owed is what is remembered of a bucket, in nanoseconds of the memory's clock.
type owed struct {
	full  int64  // when it is full, or has a unit again, by a clock that read the time before Redis did
	since int64  // when that was
	late  int64  // by how much that clock may have been early
	print uint64 // of the limit that this is true of; 0: of any
}

// The print of a limit stands above what late needs, which is a minute at most.
const lateBits = 36

// printOf tells limits apart that a bucket may have one after the other.
func printOf(l *core.Limit) uint64 {
	numbers := uint64(l.Quota)*0x9e3779b97f4a7c15 + uint64(l.Capacity())*0xc2b2ae3d27d4eb4f + uint64(l.Start())
	return max(numbers*0x9e3779b97f4a7c15>>lateBits, 1)
}

func (m *memory) load(hash uint64) (owed, bool) {
	full, since, late := m.full.Load(), m.since.Load(), m.late.Load()
	if m.check.Load() != hash^full^since^late {
		return owed{}, false
	}
	return owed{int64(full), int64(since), int64(late & (1<<lateBits - 1)), late >> lateBits}, true
}

func (m *memory) store(hash uint64, o owed) {
	full, since, late := uint64(o.full), uint64(o.since), min(uint64(o.late), 1<<lateBits-1)|o.print<<lateBits
	m.check.Store(0)
	m.full.Store(full)
	m.since.Store(since)
	m.late.Store(late)
	m.check.Store(hash ^ full ^ since ^ late)
}

// tell fills in what is known of a bucket, if anything is, and reports whether it holds too little.
func (o owed) tell(b *core.Bucket, now int64, out *core.Outcome) (known, refuses bool) {
	if !counter.Plain(b.Limit) {
		return o.tellUnit(b, now, out)
	}
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	least := max(rate.Ticks(o.full-now), 0)
	if err != nil || least > rate.Capacity {
		return false, false // the limit has been lowered, and what is owed too
	}
	most, cost := min(-rate.Ticks(now-o.full-o.late), rate.Capacity), rate.Cost(b.Cost)
	most = max(most, 0)
	out.Skipped, out.Admits = false, rate.Admits(most, cost)
	if !out.Admits {
		out.RetryAfter = rate.Wait(most, cost)
	}
	out.Remaining, out.ResetAfter = rate.Remaining(most), rate.Next(most)
	return true, !rate.Admits(least, cost)
}

// tellUnit is tell for a bucket of which it is known when it has one unit again: nothing is known of a
// higher cost, nor of how much there is beside that unit.
func (o owed) tellUnit(b *core.Bucket, now int64, out *core.Outcome) (known, refuses bool) {
	if b.Cost != 1 || o.print != printOf(&b.Limit) {
		return false, false
	}
	if o.full <= now {
		return true, false
	}
	wait := time.Duration(o.full + o.late - now)
	out.Skipped, out.RetryAfter, out.ResetAfter = false, wait, wait
	return true, true
}

// longest is how long a bucket of which nothing is known may have to be waited for.
func longest(b *core.Bucket) time.Duration {
	if !counter.Plain(b.Limit) {
		return math.MaxInt64
	}
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	if err != nil {
		return math.MaxInt64
	}
	return rate.Wait(rate.Capacity, rate.Cost(b.Cost))
}
