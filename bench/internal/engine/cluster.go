package engine

import (
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// Cluster is ours over Redis Cluster. Setup.Addr is the nodes' addresses, with commas in between.
var Cluster = []Kind{{Name: "tierlimit, redisstore, Cluster", Open: openCluster, Ours: true}}

func openCluster(s Setup) (Engine, error) {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: strings.Split(s.Addr, ","), PoolSize: s.Pool})
	store, err := redisstore.New(rdb)
	if err != nil {
		return nil, err
	}
	l, err := core.New(store, policy(s, core.Open))
	return &tierlimit{limiter: l, rdb: rdb, source: core.FromCache}, err
}
