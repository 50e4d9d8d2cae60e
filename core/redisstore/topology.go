package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// topology is a client of several servers that knows which one a key lives on.
type topology interface {
	Client
	// refresh brings what the client knows up to date.
	refresh(ctx context.Context) error
	// primary is the server of a hash tag.
	primary(ctx context.Context, tag string) (*redis.Client, error)
	// each calls f for every primary.
	each(ctx context.Context, f func(context.Context, *redis.Client) error) error
	// stale is after how long the client may know better without a failure; 0: never.
	stale() time.Duration
}

// slotMap is a Redis Cluster, which tells where the slots are.
type slotMap struct{ *redis.ClusterClient }

// refresh is ForEachMaster for what it does before it looks at the masters: it reloads the client's
// map and waits for it. ReloadState returns before there is any.
func (m slotMap) refresh(ctx context.Context) error {
	return m.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
}

func (m slotMap) primary(ctx context.Context, tag string) (*redis.Client, error) {
	return m.MasterForKey(ctx, tag)
}

func (m slotMap) each(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	return m.ForEachMaster(ctx, f)
}

func (slotMap) stale() time.Duration { return 0 }

// shards are a Ring: servers that know nothing of each other, among which the client spreads the keys.
type shards struct{ *redis.Ring }

// refresh has nothing to do: the client looks after its shards by itself.
func (shards) refresh(context.Context) error { return nil }

func (s shards) primary(_ context.Context, tag string) (*redis.Client, error) {
	return s.GetShardClientForKey(tag)
}

func (s shards) each(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	return s.ForEachShard(ctx, f)
}

// stale: a shard that is back gets its keys again, which no failure tells.
func (shards) stale() time.Duration { return time.Second }
