package memstore

import (
	"context"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/counter"
)

// Bans lists the bans in force, by the keys of their buckets. It is no part of any decision.
func (s *Store) Bans(context.Context) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	for i := range s.shards {
		s.bansOf(&s.shards[i], out)
	}
	return out, nil
}

func (s *Store) bansOf(sh *shard, out map[string]time.Time) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.wide == nil {
		return
	}
	for _, h := range sh.wide.states {
		if h.key == "" {
			continue
		}
		if end, ok := counter.Lasting(&h.State, s.epoch+s.clock()); ok {
			out[h.key] = end
		}
	}
}
