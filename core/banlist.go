package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// BanLister is a store that can list the bans in force: the keys of their buckets, and when each
// ends. It may take long and is no part of any decision.
type BanLister interface {
	Bans(ctx context.Context) (map[string]time.Time, error)
}

// ActiveBan is a caller who is banned at a level.
type ActiveBan struct {
	Level string
	Route string // the override it counts in, or a hash of one that is long; "" for the limiter's own policy
	ID    string // who: an address, or the hash of an identity
	Until time.Time

	key string
}

// Bans lists the bans that are in force in this limiter's key space, those that end last first. It
// looks at every key of the store, so it is for an operator, not for a request.
func (l *Limiter) Bans(ctx context.Context) ([]ActiveBan, error) {
	lister, ok := l.store.(BanLister)
	if !ok {
		return nil, errors.New("core: the store cannot list bans")
	}
	found, err := lister.Bans(ctx)
	if err != nil {
		return nil, fmt.Errorf("core: bans: %w", err)
	}
	name := l.current.Load().name
	var out []ActiveBan
	for key, until := range found {
		part := strings.Split(key, ":") // version and code, limiter, route, level, "ban", id
		if len(part) == 6 && part[1] == name {
			out = append(out, ActiveBan{part[3], plainPart(part[2]), plainPart(part[5]), until, key})
		}
	}
	slices.SortFunc(out, func(a, b ActiveBan) int { return cmp.Or(b.Until.Compare(a.Until), cmp.Compare(a.key, b.key)) })
	return out, nil
}

// plainPart is a part of a key as it was before it was escaped.
func plainPart(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// Lift ends bans that Bans has listed, and forgets how many there were before. Reset does so for a caller
// whose request is known.
func (l *Limiter) Lift(ctx context.Context, bans ...ActiveBan) error {
	limit := Ban{After: 1, Within: time.Second, For: time.Second}.limit() // any will do: nothing stays of it
	buckets := make([]Bucket, len(bans))
	for i, b := range bans {
		if b.key == "" {
			return errors.New("core: ban is not one that Bans has listed")
		}
		buckets[i] = Bucket{Key: b.key, Limit: limit, Cost: 1, Level: b.Level}
	}
	if len(buckets) == 0 {
		return nil
	}
	return l.store.Reset(ctx, buckets)
}
