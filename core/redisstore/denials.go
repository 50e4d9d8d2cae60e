package redisstore

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

const (
	defaultDenyAge = time.Second
	memoryWays     = 4       // places that one bucket can be remembered in
	memoryGroups   = 1 << 12 // 512 KiB, allocated at the first denial
	denialEpochs   = 1 << 8
)

// denials remembers what the buckets of refused requests owed, so that requests that cannot pass
// are refused again without asking Redis. It only ever refuses: what it remembers of a bucket is
// never more than what that owes, but for what other replicas give back within its age.
//
// A client that a replica has refused cannot keep Redis busy; one bucket that many share, such
// as an endpoint's, is asked about once in a while instead of once a request.
type denials struct {
	age   int64 // nanoseconds; 0: nothing is remembered
	now   func() int64
	seed  maphash.Seed
	table atomic.Pointer[[memoryGroups][memoryWays]memory]
	// A change for the better, made while a denial is on its way here, must not be followed by
	// that denial. Buckets share these counters by hash.
	epochs [denialEpochs]atomic.Uint32
}

// memory is four words that are read and written without a lock: check is the others and the
// bucket's hash, so that a torn one is found out.
type memory struct {
	check, full, since, late atomic.Uint64
}

// owed is what is remembered of a bucket, in nanoseconds of the memory's clock.
type owed struct {
	full  int64 // when it is full, by a clock that read the time before Redis did
	since int64 // when that was
	late  int64 // by how much that clock may have been early
}

func (m *memory) load(hash uint64) (owed, bool) {
	full, since, late := m.full.Load(), m.since.Load(), m.late.Load()
	if m.check.Load() != hash^full^since^late {
		return owed{}, false
	}
	return owed{int64(full), int64(since), int64(late)}, true
}

func (m *memory) store(hash uint64, o owed) {
	full, since, late := uint64(o.full), uint64(o.since), uint64(o.late)
	m.check.Store(0)
	m.full.Store(full)
	m.since.Store(since)
	m.late.Store(late)
	m.check.Store(hash ^ full ^ since ^ late)
}

// open sets the clock: the store's, so that tests move both.
func (d *denials) open(clock func() time.Time) {
	if clock == nil {
		clock = time.Now
	}
	d.seed = maphash.MakeSeed()
	start := clock().Add(-1) // zero is when empty places were filled
	d.now = func() int64 { return int64(clock().Sub(start)) }
}

// track notes on each bucket of a call what learn needs.
func (d *denials) track(c *call) {
	if d.age == 0 || c.op != opTake {
		return
	}
	c.since = d.now()
	for i := range c.units {
		u := &c.units[i]
		u.hash = maphash.String(d.seed, u.key)
		u.epoch = d.epochs[u.hash%denialEpochs].Load()
	}
}

// refuses answers a request of which a bucket is known to hold too little. Requests with a bucket in
// shadow are not answered: that one would have to be charged.
func (d *denials) refuses(buckets []core.Bucket, out []core.Outcome) bool {
	table := d.table.Load()
	if table == nil {
		return false
	}
	now, found := d.now(), false
	for i := range buckets {
		b := &buckets[i]
		if b.Shadow {
			return false
		}
		out[i] = core.Outcome{Source: core.FromCache, Skipped: true}
		if o, ok := d.recall(table, maphash.String(d.seed, b.Key), now); ok {
			found = o.tell(b, now, &out[i]) || found
		}
	}
	return found
}

// tell fills in what is known of a bucket and reports whether it holds too little.
func (o owed) tell(b *core.Bucket, now int64, out *core.Outcome) bool {
	rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
	least := max(rate.Ticks(o.full-now), 0)
	if err != nil || least > rate.Capacity {
		return false // the limit has been lowered, and what is owed too
	}
	most, cost := min(-rate.Ticks(now-o.full-o.late), rate.Capacity), rate.Cost(b.Cost)
	most = max(most, 0)
	out.Skipped, out.Admits = false, rate.Admits(most, cost)
	if !out.Admits {
		out.RetryAfter = rate.Wait(most, cost)
	}
	out.Remaining, out.ResetAfter = rate.Remaining(most), rate.Next(most)
	return !rate.Admits(least, cost)
}

func (d *denials) recall(table *[memoryGroups][memoryWays]memory, hash uint64, now int64) (owed, bool) {
	m, known := place(table, hash)
	if !known {
		return owed{}, false
	}
	o, ok := m.load(hash)
	return o, ok && now >= o.since && now-o.since < d.age
}

// learn remembers the buckets of a request that was refused, and brings what is remembered of
// one that was admitted up to date: who is refused next is told the wait that is true now.
func (d *denials) learn(c *call) {
	if d.age == 0 || c.op != opTake {
		return
	}
	table, admitted := d.table.Load(), c.admitted()
	if table == nil {
		if admitted {
			return
		}
		d.table.CompareAndSwap(nil, new([memoryGroups][memoryWays]memory))
		table = d.table.Load()
	}
	now := d.now()
	for i := range c.units {
		u := &c.units[i]
		debt := u.debt
		if c.charged(u, admitted) {
			debt += u.cost
		}
		m, known := place(table, u.hash)
		if owes := u.rate.Duration(debt); (known || !admitted) && owes < 1<<61 {
			d.keep(m, u, owed{c.since + int64(owes), c.since, now - c.since})
		}
	}
}

// relearn remembers what the buckets of a call owed before a charge that has been given back, so that
// the next refusal can tell of them too. The give-back itself has been one change for the better.
func (d *denials) relearn(c *call) {
	table := d.table.Load()
	if d.age == 0 || table == nil {
		return
	}
	now := d.now()
	for i := range c.units {
		u := &c.units[i]
		u.epoch++
		m, _ := place(table, u.hash)
		if owes := u.rate.Duration(u.debt); owes < 1<<61 {
			d.keep(m, u, owed{c.since + int64(owes), c.since, now - c.since})
		}
	}
}

// keep stores what is owed unless forget came in between.
func (d *denials) keep(m *memory, u *unit, o owed) {
	epoch := &d.epochs[u.hash%denialEpochs]
	if epoch.Load() != u.epoch {
		return
	}
	m.store(u.hash, o)
	if epoch.Load() != u.epoch {
		m.check.Store(0)
	}
}

// place is where a bucket is remembered, or else what it takes the place of: the oldest.
func place(table *[memoryGroups][memoryWays]memory, hash uint64) (m *memory, known bool) {
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

// forget drops what is remembered of buckets that may hold more than that now.
func (d *denials) forget(c *call) {
	if d.age == 0 || (c.op != opRefund && c.op != opReset) {
		return
	}
	table := d.table.Load()
	for i := range c.units {
		hash := maphash.String(d.seed, c.units[i].key)
		d.epochs[hash%denialEpochs].Add(1)
		if table == nil {
			continue
		}
		if m, known := place(table, hash); known {
			m.check.Store(0)
		}
	}
}
