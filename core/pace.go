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
		return d.tooLate(ctx, most)
	}
	if err := sleep(ctx, d.Delay); err != nil {
		d.Allowed, d.Reason, d.Delay = false, StoreFailed, 0
		d.Err = &StoreError{Fault: FaultCaller, Err: err}
		_ = d.Refund(ctx)
	}
	return d
}

// tooLate refuses for the levels whose delay is above most.
func (d Decision) tooLate(ctx context.Context, most time.Duration) Decision {
	err := d.Refund(ctx) // what cannot be given back stays spent
	d.RetryAfter = d.Delay - most
	d.Allowed, d.Reason, d.Delay = false, Quota, 0
	a, chosen := d.account, -1
	if a == nil {
		return d // made by hand
	}
	if err == nil {
		a.unspend()
	}
	for i := range a.shown {
		if o := &a.outcomes[i]; !a.buckets[i].Shadow && o.Delay > most {
			o.Admits, o.RetryAfter = false, o.Delay-most
			o.Remaining, o.ResetAfter = 0, o.RetryAfter // nothing that its caller can have
			if chosen < 0 || o.RetryAfter > a.outcomes[chosen].RetryAfter {
				chosen = i
			}
		}
	}
	d.report(a, chosen)
	return d
}
