package core

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"
)

// account is what one Check knows and has charged: one allocation, shared by the copies of
// its Decision.
type account struct {
	limiter  *Limiter
	table    *table
	cost     int64
	buckets  []Bucket
	outcomes []Outcome
	shown    []*planLimit // what each bucket is reported as
	keys     []byte       // of all buckets, never changed once add has written them
	spread   float64      // this decision's share of the jitter, 0 to 1
	now      time.Time
	spent    atomic.Bool // refunded or settled
	decided  bool        // by guards, before any store was asked
	earlier  *account    // of another limiter on the same request
}

// newAccount makes an account with room for the buckets of a request at all of p's limits.
func newAccount(l *Limiter, t *table, p *plan) *account {
	a := roomFor(p.limits)
	a.limiter, a.table = l, t
	if t.dated {
		a.now = t.clock()
	}
	if t.jitter > 0 {
		a.spread = rand.Float64()
	}
	return a
}

// impossible stands for BlockAll in a store: no bucket holds what it costs.
var impossible = Bucket{Limit: PerSecond(1), Cost: math.MaxInt64}

// add enters the buckets of every level of p that applies to r. Their keys are written one behind
// the other, so that they are one string. A level whose guard passes the request enters none.
func (a *account) add(r *Request, p *plan, mode guardMode) {
	a.cost = r.units()
	var lent guest
	var idRoom [128]byte
	var endRoom [8]int
	var banRoom [4]bannedID
	var refusedRoom [4]refusal
	keys, ends, banned, refused := a.keys, endRoom[:0], banRoom[:0], refusedRoom[:0]
	for i := range p.levels {
		l := &p.levels[i]
		id, ok := r.appendKey(idRoom[:0], l, &lent)
		if !ok {
			if l.scope == scopeAddress && !r.IP.IsValid() {
				a.limiter.noAddress.Add(1)
			}
			continue
		}
		id = sealID(id, l.scope, a.table.hasher)
		limits := a.limiter.limitsOf(a.table, l, r, &lent)
		if g := limits[0].guard; g != nil {
			// Its key is written where those of the buckets go: that memory is on the heap already.
			from := len(keys)
			keys = append(append(keys, limits[0].prefix...), id...)
			key := unsafe.String(&keys[from], len(keys)-from) //nolint:gosec // nobody writes to it during the call
			keys = keys[:from]
			v, wait := mode.ask(g, key, a.cost)
			if v == PassKey {
				continue
			}
			if v == RefuseKey && !l.Shadow {
				refused = append(refused, refusal{len(a.buckets), wait})
			}
		}
		for j := range limits {
			limit := &limits[j]
			if limit.kind == unlimited {
				continue
			}
			a.buckets, a.shown = append(a.buckets, Bucket{}), append(a.shown, limit)
			b := &a.buckets[len(a.buckets)-1]
			b.Limit, b.Cost = limit.Limit, a.cost
			if limit.kind == blockAll {
				b.Limit, b.Cost = impossible.Limit, impossible.Cost
			}
			b.Level, b.Shadow, b.OnFailure, b.Lease, b.Strict = l.Name, l.Shadow, l.OnFailure, l.Lease, l.Strict
			keys = append(append(keys, limit.prefix...), id...)
			ends = append(ends, len(keys))
		}
		if n := len(ends); l.ban != nil && n > 0 && a.buckets[n-1].Level == l.Name {
			banned = append(banned, bannedID{l, keys[len(keys)-len(id):]})
		}
	}
	for _, b := range banned {
		keys = a.addBan(b, keys)
		ends = append(ends, len(keys))
	}
	a.keys = keys
	text, start := unsafe.String(unsafe.SliceData(keys), len(keys)), 0 //nolint:gosec // nobody writes to keys again
	for i, end := range ends {
		a.buckets[i].Key, start = text[start:end], end
	}
	if n := len(a.buckets); n <= cap(a.outcomes) {
		a.outcomes = a.outcomes[:n]
	} else {
		a.outcomes = make([]Outcome, n)
	}
	if len(refused) > 0 {
		a.turnAway(refused)
	}
}

// ask calls one of the store's judging methods and spreads an error over the buckets.
func (a *account) ask(ctx context.Context, judge func(context.Context, []Bucket, []Outcome) error) {
	if len(a.buckets) == 0 {
		return
	}
	var err error
	if !a.decided {
		err = judge(ctx, a.buckets, a.outcomes)
	}
	for i := range a.outcomes {
		o := &a.outcomes[i]
		if err != nil {
			*o = Outcome{Source: FromNothing, Err: err}
		}
		if i < len(a.shown) && a.never(i) {
			o.RetryAfter, o.Remaining = 0, min(o.Remaining, a.shown[i].most)
		}
	}
}

// never reports whether limit i can never admit the cost, whatever the store says.
func (a *account) never(i int) bool { return a.cost > a.shown[i].most }

// The ranks of a limit's part in a decision, from the least to the most telling.
const (
	rankUnanswered = iota // was not judged, and does not mind
	rankAdmitted
	rankDenied
	rankFailed // could not be judged, and is Closed
	rankNever
)

func (a *account) rank(i int) int {
	o := &a.outcomes[i]
	switch {
	case a.never(i):
		return rankNever
	case o.Err != nil && a.buckets[i].OnFailure == Closed:
		return rankFailed
	case o.Err != nil || o.Skipped:
		return rankUnanswered
	case o.Admits:
		return rankAdmitted
	}
	return rankDenied
}

// outranks says whether limit i is the one to report rather than limit j (-1: none yet).
func (a *account) outranks(i, j int) bool {
	ri := a.rank(i)
	if j < 0 {
		return ri > rankUnanswered
	}
	if rj := a.rank(j); ri != rj {
		return ri > rj
	}
	oi, oj := &a.outcomes[i], &a.outcomes[j]
	if ri == rankDenied {
		return oi.RetryAfter > oj.RetryAfter
	}
	return tighter(oi, oj)
}

// tighter compares by what is left, then by how long it takes to get more.
func tighter(a, b *Outcome) bool {
	if a.Remaining != b.Remaining {
		return a.Remaining < b.Remaining
	}
	return a.ResetAfter > b.ResetAfter
}
