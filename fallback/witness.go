package fallback

import (
	"context"
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// witnessLimit is that of a bucket which is kept empty: it refills in longer than most outages last.
var witnessLimit = core.Per(1, 24*time.Hour)

// witness is a bucket on a node that nobody but this replica charges. Found full after an outage, it tells
// that the node has lost its memory: what was owed there before is owed no more.
type witness struct {
	mu      sync.Mutex
	key     string
	charged bool
	lost    bool // found full, and not charged anew for sure
}

func (w *witness) buckets() []core.Bucket {
	return []core.Bucket{{Key: w.key, Limit: witnessLimit, Cost: 1, Level: "witness"}}
}

// testify keeps the witness of a node that is well empty.
func (s *Store) testify(ctx context.Context, b *breaker) {
	w := &b.witness
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.settler == nil || b.degraded.Load() {
		return
	}
	if w.key == "" || s.shared.Partition(w.key) != b.partition {
		key, lives := s.keyOn("witness:"+s.id+":", b.partition)
		if !lives {
			return
		}
		w.key, w.charged = key, false
	}
	if s.shared.Debit(ctx, w.buckets()) == nil {
		w.charged = true
	}
}

// lost reports whether the node, reached again, has lost its memory, and charges the witness anew then: it is said
// once, and again if the memory is lost once more before the breaker has closed. An error means that it has yet to be said.
func (s *Store) lost(ctx context.Context, w *witness) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.charged && !w.lost {
		out := make([]core.Outcome, 1)
		err := s.shared.Peek(ctx, w.buckets(), out)
		if err == nil {
			err = out[0].Err
		}
		if err != nil && !excluded(err) {
			return false, err
		}
		w.lost = err == nil && out[0].Admits
	}
	if !w.lost {
		return false, nil
	}
	err := s.shared.Debit(ctx, w.buckets())
	if err != nil && !excluded(err) {
		return false, err // it may have been charged, so it must not be asked again
	}
	w.lost, w.charged = false, err == nil
	return true, nil
}
