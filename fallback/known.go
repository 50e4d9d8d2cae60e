package fallback

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/tierlimit/tierlimit/core"
)

const (
	knownWays   = 4 // places that one bucket can be remembered in: a cache line
	knownGroups = 1 << 14
)

// known remembers when buckets will be full again, by what the shared store last said of them: 65536 of
// them in 1 MiB, from the first that owes anything on. Where there is no room, what is full the soonest makes it.
type known struct {
	seed  maphash.Seed
	table atomic.Pointer[[knownGroups][knownWays]place]
}

// place is two words that are read and written without a lock: check is the other one and the bucket's
// hash, so that a torn place is found out and says nothing.
type place struct{ check, full atomic.Uint64 }

func (p *place) load(hash uint64) (full int64, ok bool) {
	f := p.full.Load()
	return int64(f), f != 0 && p.check.Load() == hash^f
}

func (p *place) store(hash uint64, full int64) {
	p.check.Store(0)
	p.full.Store(uint64(full))
	p.check.Store(hash ^ uint64(full))
}

// note takes the instant at which a bucket will be full; one that is past forgets it.
func (k *known) note(key string, full, now int64) {
	table := k.table.Load()
	if table == nil {
		if full <= now {
			return
		}
		k.table.CompareAndSwap(nil, new([knownGroups][knownWays]place))
		table = k.table.Load()
	}
	hash := maphash.String(k.seed, key)
	group := &table[hash>>8%knownGroups]
	free, least := &group[0], group[0].full.Load()
	for i := range group {
		p := &group[i]
		f := p.full.Load()
		if f != 0 && p.check.Load() == hash^f {
			if int64(f) != full {
				p.store(hash, max(full, 1))
			}
			return
		}
		if f < least {
			free, least = p, f
		}
	}
	if full > now {
		free.store(hash, full)
	}
}

// recall is when a bucket will be full, if that is known and not past.
func (k *known) recall(key string, now int64) (full int64, ok bool) {
	table := k.table.Load()
	if table == nil {
		return 0, false
	}
	hash := maphash.String(k.seed, key)
	group := &table[hash>>8%knownGroups]
	for i := range group {
		if f, ok := group[i].load(hash); ok {
			return f, f > now
		}
	}
	return 0, false
}

// learn notes what the shared store said of the buckets of a request.
func (s *Store) learn(buckets []core.Bucket, out []core.Outcome) {
	now := s.now()
	for i := range buckets {
		b, o := &buckets[i], &out[i]
		if o.Source != core.FromShared || o.Err != nil || o.Skipped || b.OnFailure != core.Local {
			continue
		}
		if debt, ok := owes(&b.Limit, o); ok {
			s.known.note(b.Key, now+debt, now)
		}
	}
}
