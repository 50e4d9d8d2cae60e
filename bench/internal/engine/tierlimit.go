package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
)

// tierlimit is ours, over any store.
type tierlimit struct {
	limiter *core.Limiter
	rdb     io.Closer
	source  core.Source // where every decision has to come from, at worst
	headers bool
}

// policy has the levels of s; what they do without Redis shows as an error in any case.
func policy(s Setup, onFailure core.FailureMode) core.Policy {
	limits := []core.Limit{s.Limit}
	for i := 1; i < s.Limits; i++ {
		more := s.Limit // another period is another bucket
		more.Quota, more.Period = more.Quota/int64(i+1), more.Period/time.Duration(i+1)
		limits = append(limits, more)
	}
	var p core.Policy
	for i := range s.Levels {
		var l core.Level
		switch i {
		case 0:
			l = core.PerIP(limits...)
		case 1:
			l = core.PerUser(limits...)
		case 2:
			l = core.PerEndpoint(limits...)
		default:
			l = core.PerKey(LevelName(i), core.ByHeader(LevelName(i)), limits...)
		}
		l.OnFailure = onFailure
		p = append(p, l)
	}
	return p
}

func openRedis(opts ...redisstore.Option) func(Setup) (Engine, error) {
	return func(s Setup) (Engine, error) {
		rdb := client(s)
		store, err := redisstore.New(rdb, opts...)
		if err != nil {
			return nil, err
		}
		l, err := core.New(store, policy(s, core.Open))
		return &tierlimit{limiter: l, rdb: rdb, source: core.FromCache}, err
	}
}

func openFallback(headers bool) func(Setup) (Engine, error) {
	return func(s Setup) (Engine, error) {
		rdb := client(s)
		shared, err := redisstore.New(rdb)
		if err != nil {
			return nil, err
		}
		store, err := fallback.New(shared, fallback.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		if err != nil {
			return nil, err
		}
		l, err := core.New(store, policy(s, core.Local))
		return &tierlimit{limiter: l, rdb: rdb, source: core.FromCache, headers: headers}, err
	}
}

func openMemory(s Setup) (Engine, error) {
	l, err := core.New(memstore.New(), policy(s, core.Local))
	return &tierlimit{limiter: l, source: core.FromLocal}, err
}

func (e *tierlimit) Take(ctx context.Context, r *Request) (bool, error) {
	req := core.Request{IP: r.IP, User: r.User, Endpoint: r.Endpoint}
	if len(r.Keys) > namedLevels {
		req.Header = r
	}
	d := e.limiter.Check(ctx, req)
	if e.headers {
		for name, value := range d.Headers() {
			_, _ = name, value
		}
	}
	if d.Source > e.source {
		return false, errors.Join(ErrLocal, d.Err)
	}
	return d.Allowed, d.Err
}

func (e *tierlimit) Close() error {
	err := e.limiter.Close()
	if e.rdb != nil {
		err = errors.Join(err, e.rdb.Close())
	}
	return err
}
