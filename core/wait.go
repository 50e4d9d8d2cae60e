package core

import (
	"context"
	"fmt"
	"time"
)

// Wait blocks until the request is admitted, and charged, or ctx ends. It returns at once, with
// context.DeadlineExceeded, when ctx ends before the earliest instant at which the request
// could pass, and with an error that names the reason when waiting does not help. The
// decision is the last one made. Admitted by a leaky bucket is who is served: where its queue is
// full, how long that will take shows when there is a place in it, and who has no time for it then
// gives it back. To wait is no offence: what is refused meanwhile counts toward no Ban.
func (l *Limiter) Wait(ctx context.Context, r Request) (Decision, error) {
	for {
		d := l.decide(ctx, r, l.store.Take, guardsCount)
		l.observe(d)
		wait := d.RetryAfter
		switch {
		case d.Allowed:
			wait = d.Delay
		case d.Reason != Quota:
			if d.Err != nil {
				return d, fmt.Errorf("core: not admitted (%v): %w", d.Reason, d.Err)
			}
			return d, fmt.Errorf("core: not admitted (%v)", d.Reason)
		}
		if err := sleep(ctx, wait); err != nil {
			if d.Allowed {
				d.Allowed = false
				_ = d.Refund(ctx) // what cannot be given back stays spent
			}
			return d, err
		}
		if d.Allowed {
			return d, nil
		}
	}
}

func sleep(ctx context.Context, wait time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return context.DeadlineExceeded
	}
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
