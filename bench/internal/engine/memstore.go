package engine

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// direct is memstore without the limiter around it: what a decision costs once its keys exist.
type direct struct {
	store *memstore.Store
	limit core.Limit
}

func openDirect(s Setup) (Engine, error) {
	store := memstore.New()
	return &direct{store: store, limit: s.Limit}, store.Err()
}

func (e *direct) Take(ctx context.Context, r *Request) (bool, error) {
	if r.buckets == nil {
		r.buckets, r.outcomes = make([]core.Bucket, len(r.Keys)), make([]core.Outcome, len(r.Keys))
	}
	for i, key := range r.Keys {
		r.buckets[i] = core.Bucket{Key: key, Limit: e.limit, Cost: 1, Level: LevelName(i)}
	}
	if err := e.store.Take(ctx, r.buckets, r.outcomes); err != nil {
		return false, err
	}
	for i := range r.outcomes {
		if !r.outcomes[i].Admits {
			return false, nil
		}
	}
	return true, nil
}

func (e *direct) Close() error { return e.store.Close() }
