package shaper

import (
	"context"
	"strconv"
	"time"
)

// DeadJob is a job that was started WithAttempts times and never done.
type DeadJob struct {
	ID    string    // among the dead: for Revive, Discard, and to read on from
	Job   Job       // as the handler saw it last
	Error string    // what the last handler returned or panicked with, or that its worker died
	Died  time.Time // by Redis' clock, to the millisecond
}

// Dead reads at most n dead jobs, oldest first, from the one after the given ID on; "" is the
// beginning. Dead jobs stay until they are discarded or revived: nothing bounds their number.
func (q *Queue) Dead(ctx context.Context, after string, n int) ([]DeadJob, error) {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	reply, err := q.ask(ctx, func() (any, error) {
		return q.send(ctx, 1, "xrange", q.keys.dead, from, "+", "count", max(n, 1))
	})
	if err != nil {
		return nil, storeError(err)
	}
	entries, _ := reply.([]any)
	dead := make([]DeadJob, 0, len(entries))
	for _, e := range entries {
		d, ok := deadJob(e)
		if !ok {
			return dead, storeError(errOddReply)
		}
		dead = append(dead, d)
	}
	return dead, nil
}

func deadJob(entry any) (d DeadJob, ok bool) {
	pair, _ := entry.([]any)
	if len(pair) != 2 {
		return d, false
	}
	fields, _ := pair[1].([]any)
	text := map[string]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := fields[i].(string)
		text[name], _ = fields[i+1].(string)
	}
	d.ID, ok = pair[0].(string)
	d.Died, d.Error = born(d.ID), text["error"]
	attempts, err := strconv.Atoi(text["attempts"])
	d.Job = Job{ID: text["id"], Payload: []byte(text["p"]), Attempt: attempts, Added: born(text["id"])}
	return d, ok && err == nil
}

// Revive makes a dead job a new one at the end of the queue, with an id and attempts of its own. It
// fails as Add does, or with ErrNotFound.
func (q *Queue) Revive(ctx context.Context, id string) (newID string, err error) {
	reply, err := q.ask(ctx, func() (any, error) {
		return q.run(ctx, reviveScript, []string{q.keys.jobs, q.keys.dead}, q.backlog, id)
	})
	if n, ok := reply.(int64); ok && n == 0 && err == nil {
		return "", ErrNotFound
	}
	return added(reply, err)
}

// Discard deletes dead jobs and reports how many there were.
func (q *Queue) Discard(ctx context.Context, ids ...string) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	line := []any{"xdel", q.keys.dead}
	for _, id := range ids {
		line = append(line, id)
	}
	reply, err := q.ask(ctx, func() (any, error) { return q.send(ctx, 1, line...) })
	if err != nil {
		return 0, storeError(err)
	}
	n, _ := reply.(int64)
	return int(n), nil
}
