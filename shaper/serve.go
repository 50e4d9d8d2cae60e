package shaper

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// serve is the way of a job that this worker has taken.
func (w *worker) serve(ctx context.Context, j *claim) {
	late, release := w.afterGrace(ctx)
	defer release()
	if j.starts >= w.attempts { // its last worker died
		w.insist(late, j, func(calls context.Context) error {
			return w.bury(calls, j, "the worker of the last attempt died", 0)
		})
		return
	}
	handler, cancel := context.WithCancelCause(late)
	defer cancel(nil)
	stop := w.keep(context.WithoutCancel(ctx), j, func() { cancel(ErrLost) })
	defer stop()
	if !w.start(ctx, j) {
		stop() // or a sign of life would make the job wait
		if ctx.Err() != nil {
			w.handBack(context.WithoutCancel(ctx), j)
		}
		return
	}
	err := w.try(handler, j)
	stop()
	w.settle(late, j, err, context.Cause(handler))
}

// start waits for a slot that the job can be started in, marks it as started shortly before, and
// reports whether it is to be.
func (w *worker) start(ctx context.Context, j *claim) bool {
	for ctx.Err() == nil { // a slot that nobody uses is lost
		whose := mine
		s, err := w.pace.reserve(ctx)
		if err == nil {
			err = sleep(ctx, time.Until(s.due)-w.pace.lead())
		}
		if err == nil {
			whose, err = w.hold(context.WithoutCancel(ctx), j, as{starts: j.starts + 1})
		}
		if err == nil && whose == mine {
			w.well()
			err = sleep(ctx, time.Until(s.due))
		}
		switch {
		case ctx.Err() != nil, whose != mine:
			return false
		case err != nil:
			w.rest(ctx, err)
		case !s.missed():
			j.starts++
			return true
		}
	}
	return false
}

// try calls the handler. A panic is an error like any other, but for its stack.
func (w *worker) try(ctx context.Context, j *claim) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			w.log.Error("tierlimit: shaper: handler panicked", "queue", w.name, "job", j.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	j.Attempt = j.starts
	return w.handle(ctx, j.Job)
}

// settle tells Redis what became of the job. cause is why the handler's context has ended, if it has.
func (w *worker) settle(late context.Context, j *claim, err, cause error) {
	failed := as{idle: w.claimAfter - w.retryAfter, starts: j.starts, failed: 1}
	switch {
	case err == nil:
		w.insist(late, j, func(calls context.Context) error {
			_, failure := w.run(calls, doneScript, []string{w.keys.jobs, w.keys.counts}, group, j.ID)
			return failure
		})
	case errors.Is(cause, ErrLost): // the other worker settles it
	case errors.Is(cause, ErrStopped):
		j.starts--
		w.handBack(context.WithoutCancel(late), j)
	case j.starts >= w.attempts:
		w.log.Error("tierlimit: shaper: job failed for the last time", "queue", w.name, "job", j.ID, "attempts", j.starts, "error", err)
		w.insist(late, j, func(calls context.Context) error { return w.bury(calls, j, err.Error(), 1) })
	default:
		w.log.Warn("tierlimit: shaper: job failed and will be tried again", "queue", w.name, "job", j.ID, "attempt", j.starts, "error", err)
		w.insist(late, j, func(calls context.Context) error {
			_, failure := w.hold(calls, j, failed)
			return failure
		})
	}
}

// insist repeats tell until Redis has heard of it, or the worker has to go.
func (w *worker) insist(late context.Context, j *claim, tell func(calls context.Context) error) {
	for {
		err := tell(context.WithoutCancel(late))
		if err == nil {
			w.well()
			return
		}
		if !w.rest(late, err) {
			w.unsettled = fmt.Errorf("shaper: what became of job %s is not written, so it will be done again: %w", j.ID, storeError(err))
			return
		}
	}
}

// afterGrace is a context that ends when ctx has ended and the grace is over.
func (w *worker) afterGrace(ctx context.Context) (late context.Context, release func()) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		if sleep(late, w.grace) == nil {
			cancel(ErrStopped)
		}
	})
	return late, func() {
		unhook()
		cancel(nil)
	}
}
