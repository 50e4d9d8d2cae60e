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

const mostLevels = 8

func openDirect(s Setup) (Engine, error) {
	store := memstore.New()
	return &direct{store: store, limit: s.Limit}, store.Err()
}

func (e *direct) Take(ctx context.Context, r *Request) (bool, error) {
	var buckets [mostLevels]core.Bucket
	var outcomes [mostLevels]core.Outcome
	n := len(r.Keys)
	for i, key := range r.Keys {
		buckets[i] = core.Bucket{Key: key, Limit: e.limit, Cost: 1, Level: LevelName(i)}
	}
	if err := e.store.Take(ctx, buckets[:n], outcomes[:n]); err != nil {
		return false, err
	}
	for i := range outcomes[:n] {
		if !outcomes[i].Admits {
			return false, nil
		}
	}
	return true, nil
}

func (e *direct) Close() error { return e.store.Close() }
