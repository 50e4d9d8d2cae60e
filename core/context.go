package core

import (
	"context"
	"time"
)

type contextKey struct{}

// carrier is context.WithValue with the value in place: one allocation, not two.
type carrier struct {
	context.Context

	decision Decision
}

// Value is asked for every key that a handler, or what it calls, looks up in the request.
func (c *carrier) Value(key any) any {
	if key == (contextKey{}) {
		return &c.decision
	}
	return c.Context.Value(key)
}

// NewContext returns a context that carries d, for FromContext.
func NewContext(ctx context.Context, d Decision) context.Context {
	return &carrier{ctx, d}
}

// FromContext is how a handler reaches its decision, to Settle or Refund it: that of the
// innermost limiter, if several stand before the handler. What the others charged is not touched.
func FromContext(ctx context.Context) (Decision, bool) {
	d, ok := ctx.Value(contextKey{}).(*Decision)
	if !ok {
		return Decision{}, false
	}
	return *d, true
}

// Admit is Check for adapters: it knows, through the context, what other limiters decided on
// the same request, and returns a context that carries its own decision. A Delay is waited out,
// up to most (see Pace).
//
// A limiter that has decided already answers the same again and charges nothing. When this
// limiter denies, what earlier ones charged is given back. The headers of the decision are
// those of all of them.
func (l *Limiter) Admit(ctx context.Context, r Request, most time.Duration) (context.Context, Decision) {
	outer, _ := FromContext(ctx)
	for a := outer.account; a != nil; a = a.earlier {
		if a.limiter == l {
			outer.Delay = 0 // it has been waited for
			outer.charge = a
			return ctx, outer
		}
	}
	d := l.charge(ctx, r).Pace(ctx, most)
	l.observe(d)
	if d.account != nil {
		d.account.earlier = outer.account
	}
	for a := outer.account; a != nil && !d.Allowed; a = a.earlier {
		a.takeBack(ctx)
	}
	return NewContext(ctx, d), d
}

// takeBack undoes the charge of a limiter whose request another one has refused, and what it told
// of it. Where that fails the charge stays spent; the request is refused either way.
func (a *account) takeBack(ctx context.Context) {
	if !a.spent.CompareAndSwap(false, true) || a.giveBack(context.WithoutCancel(ctx), a.cost) != nil {
		return
	}
	a.unspend()
}

// unspend makes the outcomes tell of what has been given back. A place in the queue of a leaky bucket
// may not have been.
func (a *account) unspend() {
	for i := range a.shown {
		if o := &a.outcomes[i]; o.Charged {
			o.Charged = false
			if a.buckets[i].Limit.Algorithm == LeakyBucket {
				continue
			}
			if o.Remaining += a.cost; o.Remaining == a.shown[i].most {
				o.ResetAfter = 0
			}
		}
	}
}
