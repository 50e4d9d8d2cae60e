package memstore

import "github.com/tierlimit/tierlimit/core/internal/counter"

// wide holds a shard's buckets that are more than an instant: windows, logs, token buckets that
// refill in steps or do not start full. A nil wide is empty.
type wide struct {
	states map[uint64]held
	weight int
}

// held is a state until it says nothing any more, in nanoseconds since the epoch.
type held struct {
	counter.State

	ends int64
	key  string // of a bucket of bans, so that they can be listed
}

// weight is how many entries it counts as: each entry of a log is one.
func (h *held) weight() int { return 1 + len(h.Log) }

func (w *wide) find(hash uint64) (h held, ok bool) {
	if w != nil {
		h, ok = w.states[hash]
	}
	return h, ok
}

func (w *wide) drop(hash uint64) {
	if old, ok := w.find(hash); ok {
		w.weight -= old.weight()
		delete(w.states, hash)
	}
}

// sweep drops what says nothing any more.
func (w *wide) sweep(now int64) {
	for hash, h := range w.states {
		if h.ends <= now {
			w.drop(hash)
		}
	}
}

func (w *wide) count() int {
	if w == nil {
		return 0
	}
	return len(w.states)
}

// size is how many entries the states count as.
func (w *wide) size() int {
	if w == nil {
		return 0
	}
	return w.weight
}
