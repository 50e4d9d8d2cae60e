package core

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
)

// Limiter checks requests against a policy. It is safe for concurrent use. Make one with New.
type Limiter struct {
	store   Store
	current atomic.Pointer[table]
	change  sync.Mutex // SetPolicy, one at a time

	spellings spellings
	derived   *atomic.Int64 // how many With has made, counted over the whole family
	noAddress atomic.Uint64
	badLimits atomic.Uint64
}

// New makes a limiter over store. It does no I/O and starts nothing. A mistake in policy or
// options is an error that names the field.
func New(store Store, policy Policy, opts ...Option) (*Limiter, error) {
	if store == nil {
		return nil, errors.New("core: store is nil, want memstore.New() or fallback.New(...)")
	}
	if made, ok := store.(interface{ Err() error }); ok && made.Err() != nil {
		return nil, fmt.Errorf("core: store: %w", made.Err())
	}
	c := defaults()
	if err := c.apply(opts); err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	return build(store, c, policy, new(atomic.Int64))
}

func build(store Store, c config, policy Policy, derived *atomic.Int64) (*Limiter, error) {
	t, err := compile(c, policy, store)
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	l := &Limiter{store: store, derived: derived}
	l.current.Store(t)
	return l, nil
}

// With makes a limiter for a route or group that adds p to what limits the request already,
// counted on its own. It shares the store and the options that this limiter has now, its lists
// among them, not the routes; a later SetPolicy of this one does not reach it. Its key space is
// this limiter's name and a number in order of making, so replicas must make theirs in the same
// order, which code run at start does.
func (l *Limiter) With(p Policy) (*Limiter, error) {
	c := l.current.Load().config
	c.routes = nil
	c.name += "+" + strconv.FormatInt(l.derived.Add(1), 10)
	return build(l.store, c, p, l.derived)
}

// SetPolicy replaces the policy, all routes and, where opts say so, other options, at once and
// for every later request: give every WithRoute again, those left out are gone. A list
// left out stays. Buckets keep their state: what is owed stays owed as time, so a higher rate helps
// immediately, and a lower one never locks anybody out for longer than its own time to full. The
// name cannot change. An error changes nothing.
func (l *Limiter) SetPolicy(p Policy, opts ...Option) error {
	l.change.Lock()
	defer l.change.Unlock()
	c := l.current.Load().config
	c.routes, c.named, c.observed = nil, false, false
	if err := c.apply(opts); err != nil {
		return fmt.Errorf("core: %w", err)
	}
	if c.named {
		return errors.New("core: name cannot change at run time: make another limiter")
	}
	t, err := compile(c, p, l.store)
	if err != nil {
		return fmt.Errorf("core: %w", err)
	}
	l.current.Store(t)
	return nil
}

// Check decides one request and charges it: at every level that applies, or at none. There is
// always an answer; when the store gives none, the levels' OnFailure does. The deny list and then
// the allow list come first, and ask no store.
func (l *Limiter) Check(ctx context.Context, r Request) Decision {
	d := l.charge(ctx, r)
	l.observe(d)
	return d
}

// charge is Check without telling anybody.
func (l *Limiter) charge(ctx context.Context, r Request) Decision {
	d := l.decide(ctx, r, l.store.Take, guardsCount)
	if !d.Allowed && d.account != nil {
		d.account.strike(ctx)
	}
	return d
}

func (l *Limiter) observe(d Decision) {
	for _, observe := range l.current.Load().observers {
		observe(d)
	}
}

// Peek answers as Check would and charges nothing; Remaining is what is there before the charge.
func (l *Limiter) Peek(ctx context.Context, r Request) Decision {
	return l.decide(ctx, r, l.store.Peek, guardsPeek)
}

func (l *Limiter) decide(ctx context.Context, r Request, judge func(context.Context, []Bucket, []Outcome) error, mode guardMode) Decision {
	if r.Cost < 0 {
		return Decision{Reason: Invalid, Err: errNegativeCost}
	}
	t := l.current.Load()
	r.Endpoint = l.spellings.of(r.Endpoint)
	if why, ok := t.listed(&r); ok {
		return l.uncounted(t, &r, why)
	}
	a := l.open(t, &r, mode)
	a.ask(ctx, judge)
	var d Decision
	d.weigh(a)
	return d
}

// open finds the buckets of a request whose endpoint is normalized.
func (l *Limiter) open(t *table, r *Request, mode guardMode) *account {
	r.IP = clientKey(r.IP, t.ipv6Prefix)
	p := t.lookup(r.Endpoint)
	a := newAccount(l, t, p)
	if !p.exempt {
		a.add(r, p, mode)
	}
	return a
}

// clientKey makes one address of all that one client can send from.
func clientKey(ip netip.Addr, ipv6Prefix int) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(ipv6Prefix); err == nil {
			return p.Addr()
		}
	}
	return ip
}

func (l *Limiter) limitsOf(t *table, level *planLevel, r *Request, lent *guest) []planLimit {
	if level.LimitsFor == nil {
		return level.limits
	}
	limits := level.LimitsFor(lent.of(r))
	lent.leave(r)
	if len(limits) == 0 {
		return level.limits
	}
	if known := level.tiers.of(limits); known != nil {
		return known
	}
	traits := l.store.Traits()
	for _, limit := range limits {
		if limit.Validate() != nil || traits.runs(limit) != nil {
			l.badLimits.Add(1)
			return level.limits
		}
	}
	compiled := t.limits(level, limits, tierOf)
	level.tiers.add(limits, compiled)
	return compiled
}

// Close closes the store. Limiters that share a store are closed together; closing twice is
// harmless. Afterwards every decision follows the levels' OnFailure.
func (l *Limiter) Close() error { return l.store.Close() }
