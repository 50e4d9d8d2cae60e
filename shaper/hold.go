package shaper

import (
	"context"
	"sync"
	"time"
)

// What Redis says of a job that a worker has.
const (
	mine   = 1
	others = 0  // another worker has claimed it
	nobody = -1 // it was done by another, or Redis has lost its data
)

// as is what a worker says of its job.
type as struct {
	idle   time.Duration // for how long nobody has worked on it
	starts any           // how often it was started; "" is as before
	failed int           // failed tries to count
}

// hold tells Redis of the job, if it is still this worker's.
func (w *worker) hold(ctx context.Context, j *claim, a as) (int, error) {
	reply, err := w.run(ctx, holdScript, []string{w.keys.jobs, w.keys.counts}, group, w.id, j.ID, a.idle.Milliseconds(), a.starts, a.failed)
	if err != nil && replied(err, "NOGROUP") {
		return nobody, nil
	}
	n, ok := reply.(int64)
	if err == nil && !ok {
		err = errOddReply
	}
	return int(n), err
}

// keep gives signs of life for the job until stop is called, and calls lose where another worker has
// it. Where nobody has it this worker may be the last that knows of it, and goes on.
func (w *worker) keep(ctx context.Context, j *claim, lose func()) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		beat := time.NewTicker(w.claimAfter / 3)
		defer beat.Stop()
		for {
			select {
			case <-quit:
				return
			case <-beat.C:
			}
			if whose, err := w.hold(ctx, j, as{starts: ""}); err == nil && whose == others {
				lose()
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-ended
	})
}

// handBack lets another worker have the job at once. Where that fails, one has it a while later.
func (w *worker) handBack(ctx context.Context, j *claim) {
	_, _ = w.hold(ctx, j, as{idle: w.claimAfter, starts: j.starts})
}

// bury sends the job to the dead.
func (w *worker) bury(ctx context.Context, j *claim, why string, failed int) error {
	_, err := w.run(ctx, buryScript, []string{w.keys.jobs, w.keys.dead, w.keys.counts}, group, w.id, j.ID, j.starts, why, failed)
	if err != nil && replied(err, "NOGROUP") {
		return nil
	}
	return err
}
