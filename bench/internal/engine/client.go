package engine

import "github.com/redis/go-redis/v9"

// client is what every engine on go-redis gets, ours included.
func client(s Setup) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: s.Pool})
}
