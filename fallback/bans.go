package fallback

import (
	"context"
	"errors"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Bans lists the bans in force: the shared store's, and this replica's own of an outage.
func (s *Store) Bans(ctx context.Context) (map[string]time.Time, error) {
	out, err := s.local.Bans(ctx)
	if err != nil {
		return nil, err
	}
	lister, ok := s.shared.(core.BanLister)
	if !ok {
		return nil, errors.New("fallback: the shared store cannot list bans")
	}
	shared, err := lister.Bans(ctx)
	if err != nil {
		return nil, err
	}
	for key, until := range shared {
		if until.After(out[key]) {
			out[key] = until
		}
	}
	return out, nil
}
