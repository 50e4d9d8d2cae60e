package core

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// account is what one Check knows and has charged: one allocation, shared by the copies of
// its Decision.
type account struct {
	limiter  *Limiter
	table    *table
	buckets  []Bucket
	outcomes []Outcome
	names    []string // header items
	stored   int      // buckets[:stored] are the store's; those behind are BlockAll
	spread   float64  // this decision's share of the jitter, 0 to 1
	now      time.Time
	spent    atomic.Bool // refunded or settled
	earlier  *account    // of another limiter on the same request

	bucketRoom  [4]Bucket
	outcomeRoom [4]Outcome
	nameRoom    [4]string
}

func newAccount(l *Limiter, t *table) *account {
	a := &account{limiter: l, table: t, now: t.clock()}
	if t.jitter > 0 {
		a.spread = rand.Float64()
	}
	a.buckets, a.outcomes, a.names = a.bucketRoom[:0], a.outcomeRoom[:0], a.nameRoom[:0]
	return a
}

// add enters the buckets of every level of p that applies to r.
func (a *account) add(r *Request, p *plan) {
	var blocked []Bucket
	var blockedNames []string
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
			b := Bucket{Key: limit.prefix + part, Limit: limit.Limit, Cost: r.units(), Level: l.Name, Shadow: l.Shadow, OnFailure: l.OnFailure}
			switch limit.kind {
			case counted:
				a.buckets, a.names = append(a.buckets, b), append(a.names, limit.name)
			case blockAll:
				blocked, blockedNames = append(blocked, b), append(blockedNames, limit.name)
			}
		}
	}
	a.stored = len(a.buckets)
	a.buckets, a.names = append(a.buckets, blocked...), append(a.names, blockedNames...)
	if n := len(a.buckets); n <= cap(a.outcomes) {
		a.outcomes = a.outcomes[:n]
	} else {
		a.outcomes = make([]Outcome, n)
	}
}

// hopeless reports whether some level could never admit the cost, so that nothing may be
// charged anywhere.
func (a *account) hopeless() bool {
	for i := range a.buckets {
		if b := &a.buckets[i]; !b.Shadow && b.Cost > b.Limit.Capacity() {
			return true
		}
	}
	return false
}

// ask calls one of the store's judging methods and spreads an error over the buckets.
func (a *account) ask(ctx context.Context, judge func(context.Context, []Bucket, []Outcome) error) {
	if a.stored == 0 {
		return
	}
	if err := judge(ctx, a.buckets[:a.stored], a.outcomes[:a.stored]); err != nil {
		for i := range a.stored {
			a.outcomes[i] = Outcome{Source: FromNothing, Err: err}
		}
	}
}

// The ranks of a limit's part in a decision, from the least to the most telling.
const (
	rankUnanswered = iota // could not be judged, and does not mind
	rankAdmitted
	rankDenied
	rankFailed // could not be judged, and is Closed
	rankNever
)

func (a *account) rank(i int) int {
	b, o := &a.buckets[i], &a.outcomes[i]
	switch {
	case o.Err != nil && b.OnFailure == Closed:
		return rankFailed
	case o.Err != nil:
		return rankUnanswered
	case o.Admits:
		return rankAdmitted
	case b.Cost > b.Limit.Capacity():
		return rankNever
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
