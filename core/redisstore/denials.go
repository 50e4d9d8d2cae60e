package redisstore

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

const (
	defaultDenyAge = time.Second
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
	table atomic.Pointer[memories]
	// A change for the better, made while a denial is on its way here, must not be followed by
	// that denial. Buckets share these counters by hash.
	epochs [denialEpochs]atomic.Uint32
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

// refuses answers a request of which a bucket is known to hold too little, unless another of which
// nothing is known could be empty for longer: who is told to wait must not be refused by that one then.
// Requests with a bucket in shadow are not answered: that one would have to be charged. Where denials
// are counted, only a ban is an answer.
func (d *denials) refuses(buckets []core.Bucket, out []core.Outcome) bool {
	table := d.table.Load()
	if table == nil {
		return false
	}
	now, found, counted := d.now(), false, false
	var told, possible time.Duration
	for i := range buckets {
		counted = counted || buckets[i].Limit.Ban() != core.Ban{}
	}
	for i := range buckets {
		b := &buckets[i]
		if b.Shadow {
			return false
		}
		out[i] = core.Outcome{Source: core.FromCache, Skipped: true}
		var known, refused bool
		if o, ok := d.recall(table, maphash.String(d.seed, b.Key), now); ok {
			known, refused = o.tell(b, now, &out[i])
		}
		if !known {
			possible = max(possible, longest(b))
		}
		// What else is known is told beside a ban: a bucket may be empty for longer than that lasts.
		told = max(told, out[i].RetryAfter)
		found = found || (refused && (!counted || b.Limit.Ban() != core.Ban{}))
	}
	return found && possible <= told
}

func (d *denials) recall(table *memories, hash uint64, now int64) (owed, bool) {
	m, known := table.place(hash)
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
		d.table.CompareAndSwap(nil, new(memories))
		table = d.table.Load()
	}
	now := d.now()
	for i := range c.units {
		u := &c.units[i]
		m, known := table.place(u.hash)
		if !known && admitted {
			continue
		}
		charged := c.charged(u, admitted)
		if charged && u.wide != nil {
			if known {
				m.check.Store(0) // what is left has not been worked out yet
			}
			continue
		}
		d.keep(m, u, u.owes(charged), c.since, now)
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
		m, _ := table.place(u.hash)
		d.keep(m, u, u.owes(false), c.since, now)
	}
}

// keep stores what was owed at an answer between since and now, unless forget came in between, or it is
// too long to be told.
func (d *denials) keep(m *memory, u *unit, owes time.Duration, since, now int64) {
	if owes >= 1<<61 {
		return
	}
	epoch := &d.epochs[u.hash%denialEpochs]
	if epoch.Load() != u.epoch {
		return
	}
	m.store(u.hash, owed{since + int64(owes), since, now - since, u.print()})
	if epoch.Load() != u.epoch {
		m.check.Store(0)
	}
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
		if m, known := table.place(hash); known {
			m.check.Store(0)
		}
	}
}
