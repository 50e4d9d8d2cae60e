package shaper

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// idleBlock is how long a worker of an empty queue waits for a job in one call: as long as Work may
// need to see that its context has ended, and a job that is to be tried again to be seen.
const idleBlock = 500 * time.Millisecond

// claim is a job that this worker has.
type claim struct {
	Job
	starts int // so far
}

// fetch takes a job, waiting for one for a while; nil is none.
func (w *worker) fetch(ctx context.Context) (*claim, error) {
	ctx = context.WithoutCancel(ctx) // a job whose reply nobody reads would rest until it is claimed
	j, err := w.take(ctx)
	if err == nil && j == nil {
		j, err = w.await(ctx)
	}
	if err != nil && replied(err, "NOGROUP") {
		return nil, w.createGroup(ctx) // the first worker, or Redis has lost its data
	}
	return j, err
}

// take looks for an abandoned job and then for a new one.
func (w *worker) take(ctx context.Context) (*claim, error) {
	reply, err := w.run(ctx, takeScript, []string{w.keys.jobs}, group, w.id, w.claimAfter.Milliseconds(), w.look)
	if err != nil {
		return nil, err
	}
	list, _ := reply.([]any)
	if len(list) != 1 && len(list) != 4 {
		return nil, errOddReply
	}
	if w.look, _ = list[0].(string); w.look == "" {
		w.look = "0-0"
	}
	if len(list) == 1 {
		return nil, nil
	}
	id, ok := list[1].(string)
	payload, fine := list[2].(string)
	starts, counted := list[3].(int64)
	if !ok || !fine || !counted {
		return nil, errOddReply
	}
	return newClaim(id, payload, int(starts)), nil
}

func newClaim(id, payload string, starts int) *claim {
	return &claim{Job: Job{ID: id, Payload: []byte(payload), Added: born(id)}, starts: starts}
}

// await waits for a new job. Redis gives each to one of those who wait.
func (w *worker) await(ctx context.Context) (*claim, error) {
	streams, err := w.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: w.id, Streams: []string{w.keys.jobs, ">"}, Count: 1,
		Block: jittered(min(idleBlock, w.claimAfter)),
	}).Result()
	w.relearn(ctx, err)
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, err
	case len(streams) != 1 || len(streams[0].Messages) != 1:
		return nil, errOddReply
	}
	m := streams[0].Messages[0]
	payload, ok := m.Values["p"].(string)
	if !ok {
		return nil, errOddReply
	}
	return newClaim(m.ID, payload, 0), nil
}

// createGroup makes the group of workers, which begins with the oldest job.
func (w *worker) createGroup(ctx context.Context) error {
	_, err := w.send(ctx, 2, "xgroup", "create", w.keys.jobs, group, "0", "mkstream")
	if err != nil && replied(err, "BUSYGROUP") {
		return nil // another worker was faster
	}
	return err
}

// jittered is d less up to half of it.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/2+1) }
