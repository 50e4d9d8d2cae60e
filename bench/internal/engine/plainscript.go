package engine

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed plainscript.lua
var plainScript string

// plain is one script call for each decision, all levels in it, and nothing shared between
// callers: what one would write first. It is the baseline for what sharing calls gives.
type plain struct {
	rdb        *redis.Client
	script     *redis.Script
	unit, most int64 // microseconds
	levels     int
}

func openPlain(s Setup) (Engine, error) {
	us := max(unit(s.Limit).Microseconds(), 1)
	return &plain{rdb: client(s), script: redis.NewScript(plainScript), levels: s.Levels, unit: us, most: us * s.Limit.Capacity()}, nil
}

func (e *plain) Take(ctx context.Context, r *Request) (bool, error) {
	n, err := e.script.Run(ctx, e.rdb, r.Keys[:e.levels], e.unit, e.most).Int()
	return n == 1, err
}

func (e *plain) Close() error { return e.rdb.Close() }
