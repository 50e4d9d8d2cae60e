package core

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// account is what one Check knows and has charged: one allocation, shared by the copies of
// its Decision.
type account struct {
	limiter  *Limiter
	table    *table
	cost     int64
	buckets  []Bucket
	outcomes []Outcome
	shown    []planLimit // what each bucket is reported as
	spread   float64     // this decision's share of the jitter, 0 to 1
	now      time.Time
	spent    atomic.Bool // refunded or settled
	earlier  *account    // of another limiter on the same request

	bucketRoom  [4]Bucket
	outcomeRoom [4]Outcome
	shownRoom   [4]planLimit
}

func newAccount(l *Limiter, t *table) *account {
	a := &account{limiter: l, table: t, now: t.clock()}
	if t.jitter > 0 {
		a.spread = rand.Float64()
	}
	a.buckets, a.outcomes, a.shown = a.bucketRoom[:0], a.outcomeRoom[:0], a.shownRoom[:0]
	return a
}

// impossible stands for BlockAll in a store: no bucket holds what it costs.
var impossible = Bucket{Limit: PerSecond(1), Cost: math.MaxInt64}

// add enters the buckets of every level of p that applies to r.
func (a *account) add(r *Request, p *plan) {
	a.cost = r.units()
	for i := range p.levels {
		l := &p.levels[i]
		id, ok := r.keyFor(&l.Level)
		if !ok {
			if l.scope == scopeAddress && !r.IP.IsValid() {
				a.limiter.noAddress.Add(1)
			}
			continue
		}
		part := idPart(a.table.secret, l.scope, id)
		for _, limit := range a.limiter.limitsOf(a.table, l, r) {
			b := Bucket{Limit: limit.Limit, Cost: a.cost}
			switch limit.kind {
			case unlimited:
				continue
			case blockAll:
				b = impossible
			}
			b.Key, b.Level, b.Shadow, b.OnFailure = limit.prefix+part, l.Name, l.Shadow, l.OnFailure
			a.buckets, a.shown = append(a.buckets, b), append(a.shown, limit)
		}
	}
	if n := len(a.buckets); n <= cap(a.outcomes) {
		a.outcomes = a.outcomes[:n]
	} else {
		a.outcomes = make([]Outcome, n)
	}
}

// ask calls one of the store's judging methods and spreads an error over the buckets.
func (a *account) ask(ctx context.Context, judge func(context.Context, []Bucket, []Outcome) error) {
	if len(a.buckets) == 0 {
		return
	}
	err := judge(ctx, a.buckets, a.outcomes)
	for i := range a.outcomes {
		o := &a.outcomes[i]
		if err != nil {
			*o = Outcome{Source: FromNothing, Err: err}
		}
		if a.never(i) {
			o.RetryAfter, o.Remaining = 0, min(o.Remaining, a.shown[i].Capacity())
		}
	}
}

// never reports whether limit i can never admit the cost, whatever the store says.
func (a *account) never(i int) bool { return a.cost > a.shown[i].Capacity() }

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
