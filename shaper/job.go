package shaper

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// MaxPayload is the size in bytes of the largest payload that Add takes.
const MaxPayload = 1 << 20

// Job is one piece of work as a handler sees it.
type Job struct {
	ID      string    // as Add returned it; a repetition has the same
	Payload []byte    // as given to Add; the handler's own to change
	Attempt int       // 1 for the first start
	Added   time.Time // by Redis' clock, to the millisecond
}

// Add puts a job with this payload, at most MaxPayload bytes and possibly none, at the end of the
// queue. It fails with ErrFull where the queue holds WithBacklog unfinished jobs, with ErrTooLarge, with
// ErrClosed, or with a *core.StoreError where Redis did not answer or ctx ended first: then the job may have
// been added or not. It is sent once, never repeated.
func (q *Queue) Add(ctx context.Context, payload []byte) (id string, err error) {
	if len(payload) > MaxPayload {
		return "", ErrTooLarge
	}
	text := string(payload) // the caller may change its own while a call that was left goes on
	reply, err := q.ask(ctx, func() (any, error) {
		return q.run(ctx, addScript, []string{q.keys.jobs}, q.backlog, text)
	})
	return added(reply, err)
}

// added reads the reply of a script that adds a job unless the queue is full.
func added(reply any, err error) (id string, _ error) {
	switch {
	case errors.Is(err, redis.Nil):
		return "", ErrFull
	case err != nil:
		return "", storeError(err)
	}
	id, ok := reply.(string)
	if !ok {
		return "", storeError(errOddReply)
	}
	return id, nil
}

// born is the time in a stream's id, "1700000000000-0"; zero for anything else.
func born(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
