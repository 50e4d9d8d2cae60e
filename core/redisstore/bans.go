package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// scanCount is about how many keys one SCAN looks at: some hundred microseconds of Redis' time.
const scanCount = 1000

// Bans lists the bans in force, by the keys of their buckets. It looks at every key there is, with SCAN
// and MGET, which need rights of their own, and no decision waits for it but as for any command. It is
// not held to the budget.
func (s *Store) Bans(ctx context.Context) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	if s.cluster == nil {
		return out, s.scanBans(ctx, s.client, out)
	}
	var mu sync.Mutex
	err := s.cluster.client.each(ctx, func(ctx context.Context, node *redis.Client) error {
		found := map[string]time.Time{}
		err := s.scanBans(ctx, node, found)
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(out, found)
		return err
	})
	return out, err
}

func (s *Store) scanBans(ctx context.Context, client Client, out map[string]time.Time) error {
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		scan := redis.NewScanCmd(ctx, nil, "scan", cursor, "match", s.prefix+"*1b:*", "count", scanCount)
		if err := client.Process(ctx, scan); err != nil {
			return fmt.Errorf("redisstore: scan: %w", err)
		}
		var keys []string
		if keys, cursor = scan.Val(); len(keys) == 0 {
			continue
		}
		for _, key := range keys {
			value := redis.NewStringCmd(ctx, "get", key)
			switch err := client.Process(ctx, value); {
			case errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "WRONGTYPE"):
				continue // it is gone, or none of ours
			case err != nil:
				return fmt.Errorf("redisstore: get: %w", err)
			}
			if until, ok := s.banOf(value.Val()); ok {
				out[s.bare(key)] = until
			}
		}
	}
	return nil
}

// banOf reads what lua/bans.lua stores.
func (s *Store) banOf(value string) (until time.Time, ok bool) {
	var us, count int64
	if n, err := fmt.Sscan(value, &us, &count); n < 2 || err != nil {
		return until, false
	}
	until = time.UnixMicro(us)
	return until, count > 0 && until.After(s.hangar.now())
}

// bare is a key without the store's prefix and, in a Cluster, its hash tag.
func (s *Store) bare(key string) string {
	key = strings.TrimPrefix(key, s.prefix)
	if at := strings.Index(key, "1b:"); at > 0 {
		key = key[at:]
	}
	return key
}
