package engine

import (
	"context"
	"net/netip"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// Remembered is one client that is over its limit and asks again and again.
var Remembered = []Kind{
	{Name: "a remembered denial: the store", Open: openRemembered(false), Ours: true},
	{Name: "a remembered denial: Check and headers", Open: openRemembered(true), Ours: true},
}

// remembered asks for the same key, whatever the request is about.
type remembered struct {
	store   *redisstore.Store
	rdb     *redis.Client
	limiter *core.Limiter // nil: the store alone

	request core.Request
	buckets []core.Bucket
	out     []core.Outcome
}

func openRemembered(whole bool) func(Setup) (Engine, error) {
	return func(s Setup) (Engine, error) {
		limit := core.PerHour(1)
		e := &remembered{
			rdb:     client(s),
			request: core.Request{IP: netip.AddrFrom4([4]byte{192, 0, 2, 1})},
			buckets: []core.Bucket{{Key: "1t:remembered::ip:3600s:192.0.2.1", Limit: limit, Cost: 1, Level: "ip"}},
			out:     make([]core.Outcome, 1),
		}
		var err error
		if e.store, err = redisstore.New(e.rdb); err != nil || !whole {
			return e, err
		}
		level := core.PerIP(limit)
		level.OnFailure = core.Open
		e.limiter, err = core.New(e.store, core.Policy{level})
		return e, err
	}
}

func (e *remembered) Take(ctx context.Context, _ *Request) (bool, error) {
	if e.limiter == nil {
		err := e.store.Take(ctx, e.buckets, e.out)
		return e.out[0].Admits, err
	}
	d := e.limiter.Check(ctx, e.request)
	for name, value := range d.Headers() {
		_, _ = name, value
	}
	return d.Allowed, d.Err
}

func (e *remembered) Close() error {
	_ = e.store.Close()
	return e.rdb.Close()
}
