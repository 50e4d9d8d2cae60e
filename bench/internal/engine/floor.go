package engine

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

const (
	floorFlushers = 2
	floorBatch    = 128
)

// floor is no limiter: it counts each level with INCR and admits everything. The increments of
// many callers share a pipeline, so it is about the least that any exact limiter could cost.
type floor struct {
	rdb    *redis.Client
	levels int
	calls  chan *floorCall
	pool   sync.Pool
	done   sync.WaitGroup
}

type floorCall struct {
	keys   []string
	result chan error
}

func openFloor(s Setup) (Engine, error) {
	e := &floor{rdb: client(s), levels: s.Levels, calls: make(chan *floorCall, floorBatch)}
	e.pool.New = func() any { return &floorCall{result: make(chan error, 1)} }
	for range floorFlushers {
		e.done.Go(e.flush)
	}
	return e, nil
}

func (e *floor) Take(_ context.Context, r *Request) (bool, error) {
	c := e.pool.Get().(*floorCall)
	defer e.pool.Put(c)
	c.keys = r.Keys[:e.levels]
	e.calls <- c
	return true, <-c.result
}

// flush sends what waits, and does not wait for more.
func (e *floor) flush() {
	var batch []*floorCall
	for first := range e.calls {
		batch = e.waiting(append(batch[:0], first))
		pipe := e.rdb.Pipeline()
		for _, c := range batch {
			for _, key := range c.keys {
				pipe.Incr(context.Background(), key)
			}
		}
		_, err := pipe.Exec(context.Background())
		for _, c := range batch {
			c.result <- err
		}
	}
}

func (e *floor) waiting(batch []*floorCall) []*floorCall {
	for len(batch) < floorBatch {
		select {
		case c, open := <-e.calls:
			if !open {
				return batch
			}
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

func (e *floor) Close() error {
	close(e.calls)
	e.done.Wait()
	return e.rdb.Close()
}
