package memstore

import "github.com/tierlimit/tierlimit/core"

// one settles a request of one bucket as settle would, which has nothing here to put in order.
// Where that one needs room that may not be there, settle has to look for it.
func (s *Store) one(b *core.Bucket, o *core.Outcome, charge bool) (done bool, err error) {
	if s.closed.Load() {
		return true, core.ErrClosed
	}
	now := s.clock()
	var sl slot
	if err := s.aim(&sl, b, now); err != nil {
		return true, err
	}
	if sl.wide != nil {
		return false, nil
	}
	sh := &s.shards[sl.shard]
	sh.lock()
	if sh.seen > now {
		now = s.clock()
	}
	sh.seen = now
	sl.now = sl.rate.Ticks(now)
	at := sh.find(sl.hash)
	if at >= 0 {
		sl.owe(&sh.cells[at])
	} else if sh.size() >= s.perShard {
		sh.mu.Unlock()
		return false, nil
	}
	sl.judge()
	first := false
	if charge && sl.charge(true) {
		first = sh.set(newCell(sl.hash, &sl.rate, sl.now+sl.debt), at, now)
	}
	sh.mu.Unlock()
	if first {
		s.janitor.wake(s)
	}
	sl.tell(o, s.deny)
	return true, nil
}
