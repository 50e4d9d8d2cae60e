package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/limit"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

// gozero keeps one TokenLimiter for each key, since a TokenLimiter is one bucket. Its client is
// made by go-zero, once for each address, with a pool that cannot be set; it is never closed.
type gozero struct {
	store       *redis.Redis
	rate, burst int
	keys        sync.Map // of *limit.TokenLimiter
	levels      int
	logged      *errorCount
}

// errorCount hears of the decisions that go-zero makes without Redis: it returns no error, it
// logs one.
type errorCount struct {
	logx.Writer
	n atomic.Int64
}

func (c *errorCount) Error(any, ...logx.LogField) { c.n.Add(1) }
func (c *errorCount) Severe(any)                  { c.n.Add(1) }
func (c *errorCount) Alert(any)                   {}
func (c *errorCount) Debug(any, ...logx.LogField) {}
func (c *errorCount) Info(any, ...logx.LogField)  {}
func (c *errorCount) Slow(any, ...logx.LogField)  {}
func (c *errorCount) Stack(any)                   {}
func (c *errorCount) Stat(any, ...logx.LogField)  {}
func (c *errorCount) Close() error                { return nil }

func openGoZero(s Setup) (Engine, error) {
	logx.DisableStat()
	logged := &errorCount{}
	logx.SetWriter(logged)
	store, err := redis.NewRedis(redis.RedisConf{Host: s.Addr, Type: redis.NodeType})
	if err != nil {
		return nil, err
	}
	e := &gozero{
		store: store, levels: s.Levels, logged: logged,
		rate: max(1, int(time.Second/unit(s.Limit))), burst: int(s.Limit.Capacity()),
	}
	// One call first: many at once on a server without the script trip go-zero's own
	// circuit breaker, which counts their NOSCRIPT.
	e.limiter("first").AllowCtx(context.Background())
	logged.n.Store(0)
	return e, nil
}

func (e *gozero) limiter(key string) *limit.TokenLimiter {
	if l, ok := e.keys.Load(key); ok {
		return l.(*limit.TokenLimiter)
	}
	l, _ := e.keys.LoadOrStore(key, limit.NewTokenLimiter(e.rate, e.burst, e.store, key))
	return l.(*limit.TokenLimiter)
}

func (e *gozero) Take(ctx context.Context, r *Request) (bool, error) {
	for i := range e.levels {
		before := e.logged.n.Load()
		ok := e.limiter(r.Keys[i]).AllowCtx(ctx)
		if e.logged.n.Load() != before {
			return false, ErrLocal
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

func (e *gozero) Close() error { return nil }
