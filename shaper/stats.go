package shaper

import (
	"context"
	"time"
)

// Stats is what a queue holds and has done. The zero value is that of a queue that was never used.
type Stats struct {
	Backlog    int64         // unfinished jobs: waiting or in progress
	Waiting    int64         // of them, those that no worker has had
	InProgress int64         // of them, those that a worker has or had: before its slot, in work, or to be tried again
	Lag        time.Duration // age of the oldest job that waits; 0 for none
	Oldest     time.Duration // age of the oldest unfinished job; 0 for none
	Done       int64         // jobs done since the queue's keys were made, each once
	Failed     int64         // starts since then whose handler failed or panicked
	Dead       int64         // dead jobs, see Dead
}

// Stats reads the state of the queue in one call, all of it at one instant and on Redis' clock. Its
// error is a *core.StoreError or ErrClosed.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	reply, err := q.ask(ctx, func() (any, error) {
		return q.run(ctx, statsScript, []string{q.keys.jobs, q.keys.dead, q.keys.counts}, group)
	})
	if err != nil {
		return Stats{}, storeError(err)
	}
	list, _ := reply.([]any)
	if len(list) != 8 {
		return Stats{}, storeError(errOddReply)
	}
	number := func(i int) int64 { n, _ := list[i].(int64); return n }
	now := time.UnixMilli(number(5))
	age := func(i int) time.Duration {
		id, _ := list[i].(string)
		if id == "" {
			return 0
		}
		return max(now.Sub(born(id)), 0)
	}
	return Stats{
		Backlog: number(0), Waiting: number(0) - number(1), InProgress: number(1),
		Lag: age(6), Oldest: age(7),
		Done: number(3), Failed: number(4), Dead: number(2),
	}, nil
}
