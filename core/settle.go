package core

import (
	"context"
	"fmt"
	"slices"
)

// Refund gives back what the decision charged, as far as time has not done so already. It
// acts once, whichever copy of the decision it is called on; later calls, and calls on a
// decision that charged nothing, do nothing. A refund that fails stays spent. It is made even
// when ctx has ended, as a request's has when its client left; the store's budget bounds it.
func (d Decision) Refund(ctx context.Context) error {
	if d.account == nil || !d.account.spent.CompareAndSwap(false, true) {
		return nil
	}
	if d.account.stored == 0 {
		return nil
	}
	return d.account.giveBack(context.WithoutCancel(ctx), d.account.buckets[0].Cost)
}

// Settle replaces the cost that was charged by the actual one, known only afterwards: bytes
// sent, tokens generated. Less is given back as by Refund; more is charged even where it is
// not there, down to empty. It acts once, and not after Refund; a request that was denied has
// nothing to settle. Like Refund it does not mind that ctx has ended.
func (d Decision) Settle(ctx context.Context, actual int64) error {
	if actual < 0 {
		return fmt.Errorf("core: actual cost is %d, want 0 or more", actual)
	}
	if d.account == nil || !d.Allowed || !d.account.spent.CompareAndSwap(false, true) {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	a := d.account
	if a.stored == 0 {
		return nil
	}
	charged := a.buckets[0].Cost // the same for every level
	if actual <= charged {
		return a.giveBack(ctx, charged-actual)
	}
	var buckets []Bucket
	for i := range a.stored {
		if a.outcomes[i].Charged {
			buckets = append(buckets, a.buckets[i])
			buckets[len(buckets)-1].Cost = actual - charged
		}
	}
	if len(buckets) == 0 {
		return nil
	}
	return a.limiter.store.Debit(ctx, buckets)
}

// giveBack refunds units of what each bucket was charged.
func (a *account) giveBack(ctx context.Context, units int64) error {
	outcomes := a.outcomes[:a.stored]
	if units == 0 || !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Charged }) {
		return nil
	}
	buckets := slices.Clone(a.buckets[:a.stored])
	for i := range buckets {
		buckets[i].Cost = units
	}
	return a.limiter.store.Refund(ctx, buckets, outcomes)
}
