package core

import (
	"context"
	"fmt"
)

// Refund gives back what the decision charged, as far as time has not done so already. It
// acts once, whichever copy of the decision it is called on; later calls, and calls on a
// decision that charged nothing, do nothing. A refund that fails stays spent. It is made even
// when ctx has ended, as a request's has when its client left; the store's budget bounds it.
func (d Decision) Refund(ctx context.Context) error {
	a := d.charged()
	if a == nil || !a.spent.CompareAndSwap(false, true) {
		return nil
	}
	return a.giveBack(context.WithoutCancel(ctx), a.cost)
}

// Settle replaces the cost that was charged by the actual one, known only afterwards: bytes
// sent, tokens generated. Less is given back as by Refund; more is charged even where it is
// not there, down to empty. It acts once, and not after Refund; a request that was denied has
// nothing to settle. Like Refund it does not mind that ctx has ended.
func (d Decision) Settle(ctx context.Context, actual int64) error {
	if actual < 0 {
		return fmt.Errorf("core: actual cost is %d, want 0 or more", actual)
	}
	a := d.charged()
	if a == nil || !d.Allowed || !a.spent.CompareAndSwap(false, true) {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if actual <= a.cost {
		return a.giveBack(ctx, a.cost-actual)
	}
	buckets, _ := a.charged(actual - a.cost)
	if len(buckets) == 0 {
		return nil
	}
	return a.limiter.store.Debit(ctx, buckets)
}

func (d Decision) charged() *account {
	if d.charge != nil {
		return d.charge
	}
	return d.account
}

// giveBack refunds units of what each bucket was charged.
func (a *account) giveBack(ctx context.Context, units int64) error {
	if units == 0 {
		return nil
	}
	buckets, outcomes := a.charged(units)
	if len(buckets) == 0 {
		return nil
	}
	return a.limiter.store.Refund(ctx, buckets, outcomes)
}

// charged are the buckets that were charged, at a cost of units.
func (a *account) charged(units int64) (buckets []Bucket, outcomes []Outcome) {
	for i := range a.shown {
		if a.outcomes[i].Charged {
			b := a.buckets[i]
			b.Cost = units
			buckets, outcomes = append(buckets, b), append(outcomes, a.outcomes[i])
		}
	}
	return buckets, outcomes
}
