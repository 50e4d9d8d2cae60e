package shaper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"
)

// Work takes one job after the other, waits for its slot, and calls handle, until ctx ends. Call it
// several times, in one process or in many, to have as many jobs in work at once; each call has one
// connection of the client for itself while the queue is empty.
//
// A job is done when handle returns nil. When it returns an error or panics, the job rests for
// WithRetryAfter and is tried again, by any worker, or goes to the dead jobs. The context of handle does not
// end with ctx, but WithGrace later (cause ErrStopped), or when the job was lost to another worker (cause
// ErrLost). A job that waits for its slot when ctx ends, or whose handler fails since the
// grace is over, is handed back at once and that start is not counted.
//
// While Redis fails Work keeps trying, with pauses of at most 2 s, and goes on when it is back. A
// handler that runs meanwhile is left alone, and what became of its job is written once Redis is back.
//
// Work returns when ctx ends and the handler has returned, which may take the grace and what the
// client waits for an answer. The error is nil, or ErrClosed, or says that the end of a job could not
// be written, so that it will be done again.
func (q *Queue) Work(ctx context.Context, handle func(ctx context.Context, j Job) error) error {
	if handle == nil {
		return errors.New("shaper: handler is nil, want a function")
	}
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	store, err := openStore(q.client, q.prefix)
	if err != nil {
		return err
	}
	defer store.Close()
	w := &worker{Queue: q, id: workerID(), handle: handle, pace: pace{tempo: q.tempo, store: store}, look: "0-0"}
	w.sweep(ctx, "")
	for ctx.Err() == nil {
		j, err := w.fetch(ctx)
		if err != nil {
			w.rest(ctx, err)
			continue
		}
		w.well()
		if j != nil {
			w.serve(ctx, j)
		}
	}
	w.sweep(ctx, w.id)
	return w.unsettled
}

// worker is one call of Work.
type worker struct {
	*Queue
	id     string // its consumer in the group
	handle func(context.Context, Job) error
	pace   pace
	look   string // where it goes on looking for abandoned jobs

	failures  int // in a row
	unsettled error
}

// workerID is told apart by its random part; the rest is for people who look at XINFO CONSUMERS.
func workerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text())
}

// sweep forgets a worker that ends, and those that died. It is housekeeping: when it fails, the
// next worker does it.
func (w *worker) sweep(ctx context.Context, ending string) {
	_, _ = w.run(context.WithoutCancel(ctx), sweepScript, []string{w.keys.jobs}, group, ending, w.claimAfter.Milliseconds())
}

// rest waits after a failure, longer the more there were, and each worker differently. It reports
// whether ctx is still going on.
func (w *worker) rest(ctx context.Context, err error) bool {
	if w.failures++; w.failures == 1 && ctx.Err() == nil {
		w.log.Warn("tierlimit: shaper: Redis fails a worker, which keeps trying", "queue", w.name, "error", err)
	}
	return sleep(ctx, pause(w.failures)) == nil
}

// well notes that Redis has answered.
func (w *worker) well() {
	if w.failures > 0 {
		w.log.Info("tierlimit: shaper: Redis is back", "queue", w.name, "failures", w.failures)
	}
	w.failures = 0
}

// pause is 50 ms, doubled with each failure in a row up to 2 s, and of that at least a half.
func pause(failures int) time.Duration {
	most := 50 * time.Millisecond << min(failures-1, 6)
	return jittered(min(most, 2*time.Second))
}
