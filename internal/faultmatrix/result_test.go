package faultmatrix_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// What is promised.
const (
	over      = 10 * time.Millisecond   // a decision takes at most the budget and this
	waiters   = 5 + 5 + 1               // failures that open the breaker, requests within a budget, one
	backAfter = 1500 * time.Millisecond // from when Redis can answer
	promoted  = time.Second             // from the promotion of a replica
	waits     = 5 * time.Millisecond    // what takes longer has waited
)

// result is what a cell saw. Times are less what the machine stalled meanwhile, but for raw.
type result struct {
	took          []time.Duration // of each decision
	slowest, raw  time.Duration
	stall         time.Duration // the longest
	waited        int
	outage, back  time.Duration
	failed        int // answered with 5xx
	denied        int // or with 429, which the limit is too high for
	local, others int // decided locally: of the bucket that had lost its Redis, of the other ones
	requests      int
	broken, late  []string // promises: late are those of which a machine that stalls may be the cause
}

// judge looks at what was sent from the fault on.
func (c cell) judge(seen []request, machine *stalls, begun, answers, back time.Time) (r result) {
	r.stall = machine.longest()
	r.outage, r.back = answers.Sub(begun), back.Sub(answers)
	during := 0
	for _, q := range seen {
		r.requests++
		end := q.at.Add(q.took)
		took := q.took - machine.within(q.at, end)
		r.took = append(r.took, took)
		r.slowest, r.raw = max(r.slowest, took), max(r.raw, q.took)
		local := q.source == core.FromLocal.String()
		switch {
		case q.status >= http.StatusInternalServerError:
			r.failed++
		case q.status != http.StatusOK:
			r.denied++
		case q.other && local:
			r.others++
		case local:
			r.local++
		}
		if q.other {
			continue
		}
		if took > waits && q.at.Before(back) {
			r.waited++
		}
		if q.at.After(begun) && q.at.Before(answers) {
			during++
		}
	}
	r.back -= machine.within(answers, back)
	r.check(c, during)
	return r
}

func (r *result) check(c cell, during int) {
	broken := func(format string, args ...any) { r.broken = append(r.broken, fmt.Sprintf(format, args...)) }
	late := func(format string, args ...any) { r.late = append(r.late, fmt.Sprintf(format, args...)) }
	if r.failed+r.denied > 0 {
		broken("%d requests got 5xx, %d were denied", r.failed, r.denied)
	}
	if 2*r.local < during {
		broken("the fault did nothing: %d of %d decisions were local", r.local, during)
	}
	limit := backAfter
	if c.failsOver() {
		limit = promoted
	}
	if raceEnabled {
		limit *= 2 // the detector slows the service down, and the tests beside it
	}
	if r.back > limit {
		broken("back %v after Redis could answer, want %v", r.back, limit)
	}
	if raceEnabled {
		return
	}
	if r.slowest > budget+over {
		late("slowest decision took %v", r.slowest)
	}
	if r.waited > waiters {
		late("%d requests waited, want %d at most", r.waited, waiters)
	}
	if r.others > 0 {
		late("%d decisions at healthy primaries were local", r.others)
	}
}
