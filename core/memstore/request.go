package memstore

import (
	"strings"

	"github.com/tierlimit/tierlimit/core"
)

// request is the buckets of one call, whose shards it locks together.
type request struct {
	slots   []slot
	buckets []core.Bucket
	now     int64 // in nanoseconds
	spills  bool  // the overflow buckets are locked too
	first   bool  // a shard that was empty is no longer
}

// begin finds the buckets, locks their shards and reads what they owe. Shards are locked in
// one order, whatever the order of the buckets.
//
// The clock is read before, so that nobody waits for that, and again only if somebody came in
// between: an instant older than what is stored would refill what has been refilled.
func (s *Store) begin(r *request) error {
	if s.closed.Load() {
		return core.ErrClosed
	}
	r.now = s.clock()
	for i := range r.slots {
		if err := s.aim(&r.slots[i], &r.buckets[i], r.now); err != nil {
			return err
		}
		r.queue(i)
	}
	late := false
	for i := range r.slots {
		if sh := s.inTurn(r, i); sh != nil {
			sh.lock()
			late = late || sh.seen > r.now
		}
	}
	if late {
		r.now = s.clock()
	}
	for i := range r.slots {
		s.read(r, i)
	}
	if r.spills {
		s.catchUp(r)
	}
	return nil
}

// queue puts the shard of slot i, the last so far, among the turns of those before it. Hashes are
// in no order that a processor could guess, so it compares all and branches on none.
func (r *request) queue(i int) {
	turn := r.slots[i].shard
	for k := range i {
		before := &r.slots[k].turn
		*before, turn = min(*before, turn), max(*before, turn)
	}
	r.slots[i].turn = turn
}

// inTurn is the shard to lock or unlock at step i: none where it was the step before.
func (s *Store) inTurn(r *request, i int) *shard {
	turn := r.slots[i].turn
	if i > 0 && r.slots[i-1].turn == turn {
		return nil
	}
	return &s.shards[turn]
}

func (s *Store) end(r *request) {
	if r.spills {
		s.overflow.mu.Unlock()
	}
	for i := range r.slots {
		if sh := s.inTurn(r, i); sh != nil {
			sh.mu.Unlock()
		}
	}
	if r.first {
		s.janitor.wake(s)
	}
}

// read finds what slot i owes; those before it have been read.
func (s *Store) read(r *request, i int) {
	sl := &r.slots[i]
	sh := &s.shards[sl.shard]
	sh.seen = r.now
	if sl.wide != nil {
		s.readWide(r, i)
		return
	}
	sl.now = sl.rate.Ticks(r.now)
	if sl.at = sh.find(sl.hash); sl.at >= 0 {
		sl.owe(&sh.cells[sl.at])
		return
	}
	if !s.roomFor(r, i, sh) {
		sl.spill = true
		s.readOverflow(r, i)
	}
}

// roomFor reports whether the shard has room for slot i, beside those of the same request that
// have none there yet: a cell that one of them had may have been dropped as it owed nothing.
func (s *Store) roomFor(r *request, i int, sh *shard) bool {
	if sh.size()+len(r.slots) <= s.perShard {
		return true
	}
	if sh.size()+r.without(i, sh) <= s.perShard {
		return true
	}
	s.makeRoom(sh, r.now)
	return sh.size()+r.without(i, sh) <= s.perShard
}

// readWide is read for a bucket that is more than an instant.
func (s *Store) readWide(r *request, i int) {
	sl := &r.slots[i]
	sh := &s.shards[sl.shard]
	sl.now = s.epoch + r.now
	if h, ok := sh.wide.find(sl.hash); ok {
		sl.wide.held = h.State
	} else if !s.roomFor(r, i, sh) {
		sl.spill = true
		s.readOverflow(r, i)
	}
}

// without counts the slots up to i that need a cell of the shard.
func (r *request) without(i int, sh *shard) (n int) {
	for k := range r.slots[:i+1] {
		sl := &r.slots[k]
		if sl.shard == r.slots[i].shard && !sl.spill && !sl.in(sh) {
			n++
		}
	}
	return n
}

// write stores what slot i owes now. What owes nothing needs no cell.
func (s *Store) write(r *request, i int) {
	sl := &r.slots[i]
	if sl.wide != nil {
		s.writeWide(r, i)
		return
	}
	c := newCell(sl.hash, &sl.rate, sl.now+sl.debt)
	if sl.spill {
		s.overflow.cells[overflowOf(&r.buckets[i])] = c
		return
	}
	sh := &s.shards[sl.shard]
	if sl.debt > 0 {
		r.first = sh.set(c, sl.at, r.now) || r.first
	} else if at := sh.find(sl.hash); at >= 0 {
		sh.drop(at)
	}
}

// writeWide is write for a bucket that is more than an instant.
func (s *Store) writeWide(r *request, i int) {
	sl := &r.slots[i]
	h := held{State: sl.wide.held, ends: sl.wide.Ends(&sl.wide.held)}
	if b := &r.buckets[i]; b.Limit.Ban() != (core.Ban{}) {
		h.key = strings.Clone(b.Key)
	}
	if sl.spill {
		s.overflow.states[overflowOf(&r.buckets[i])] = h
		return
	}
	sh := &s.shards[sl.shard]
	if h.ends > sl.now {
		r.first = sh.setWide(sl.hash, h) || r.first
	} else {
		sh.wide.drop(sl.hash)
	}
}
