package core

import (
	"context"
	"time"
)

// Pace waits out the decision's Delay. A delay above most is a denial instead, and a caller who
// leaves while waiting is refused too; either way the charge is given back.
func (d Decision) Pace(ctx context.Context, most time.Duration) Decision {
	if !d.Allowed || d.Delay <= 0 {
		return d
	}
	if d.Delay > most {
		d.RetryAfter = d.Delay - most
		d.Allowed, d.Reason, d.Delay = false, Quota, 0
		_ = d.Refund(ctx) // what cannot be given back stays spent
		return d
	}
	if err := sleep(ctx, d.Delay); err != nil {
		d.Allowed, d.Reason, d.Delay, d.Err = false, StoreFailed, 0, err
		_ = d.Refund(ctx)
	}
	return d
}
