package core

import (
	"errors"
	"net/http"
	"time"
)

// Reason says why a request was refused.
type Reason uint8

// The reasons.
const (
	None        Reason = iota // it was not
	Quota                     // a level has too little left; RetryAfter says until when
	Never                     // its cost is above a level's capacity: waiting does not help
	Banned                    // blocked for repeated denials (see Ban)
	Listed                    // on the deny list: waiting does not help
	Invalid                   // the request itself is wrong: a negative cost
	StoreFailed               // the store could not answer, and a level is Closed or the caller is gone
)

var reasonNames = [...]string{"none", "quota", "never", "banned", "listed", "invalid", "store_failed"}

// String returns a metric label.
func (r Reason) String() string { return reasonNames[r] }

// Source says where an answer came from, from the best to the worst.
type Source uint8

// The sources.
const (
	FromExempt  Source = iota // no level applied, guards passed those that did, or a list decided
	FromShared                // the shared store
	FromCache                 // a denial remembered from the shared store
	FromLocal                 // this process's own buckets: degraded, where there is a shared store
	FromNothing               // nobody could answer; OnFailure decided
)

var sourceNames = [...]string{"exempt", "shared", "cache", "local", "nothing"}

// String returns a metric label.
func (s Source) String() string { return sourceNames[s] }

// Decision is the answer to one request. It is a value; copies share one charge, so that
// Refund and Settle act once however many copies there are. The zero Decision is a refusal
// without a reason and has no headers.
type Decision struct {
	Allowed    bool
	Reason     Reason
	Level      string        // the level that denied, with the longest wait if several; else the tightest
	Limit      Limit         // of that level
	Remaining  int64         // units left of that limit, after this request
	RetryAfter time.Duration // 0 when allowed, or when waiting does not help; else the longest wait of the denying levels
	ResetAfter time.Duration // until that limit's next unit is back, or its window ends
	Delay      time.Duration // leaky bucket only: serve after this long (see Pace)
	Source     Source        // the worst of its levels
	Err        error         // why the store could not answer; Allowed then follows OnFailure

	account *account
	charge  *account // what Refund and Settle act on, if not account: an earlier limiter asked again
}

// LevelResult is one limit's part in a decision.
type LevelResult struct {
	Level      string
	Policy     string // the header item's name: "user", "user-2" for a level's second limit, "login:user" for a second limiter
	Limit      Limit
	Denied     bool // it refused, or would have if it were no shadow
	Shadow     bool
	Remaining  int64
	RetryAfter time.Duration
	ResetAfter time.Duration
	Delay      time.Duration
	Source     Source
	Skipped    bool  // it was not judged, since another level had refused already; the numbers then mean nothing
	Err        error // it could not be judged; the numbers then mean nothing
}

// Levels lists what each limit said, in the policy's order.
func (d Decision) Levels() []LevelResult {
	if d.account == nil {
		return nil
	}
	out := make([]LevelResult, len(d.account.shown))
	for i := range out {
		b, o := &d.account.buckets[i], &d.account.outcomes[i]
		out[i] = LevelResult{
			Level: b.Level, Policy: d.account.shownName(i), Limit: d.account.shown[i].Limit, Shadow: b.Shadow,
			Denied:    d.account.rank(i) >= rankDenied,
			Remaining: o.Remaining, RetryAfter: o.RetryAfter, ResetAfter: o.ResetAfter,
			Delay: o.Delay, Source: o.Source, Skipped: o.Skipped, Err: o.Err,
		}
	}
	return out
}

// Status is the HTTP status of the decision: 200 when allowed, 429 for a client over its
// limits, 403 for one on the deny list, and 503 when the store failed, which is never the client's
// fault.
func (d Decision) Status() int {
	switch {
	case d.Allowed:
		return http.StatusOK
	case d.Reason == Listed:
		return http.StatusForbidden
	case d.Reason == StoreFailed:
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

// weigh fills d from what the store said of each bucket.
func (d *Decision) weigh(a *account) {
	d.Allowed, d.account = true, a
	chosen := -1
	for i := range a.shown {
		b, o := &a.buckets[i], &a.outcomes[i]
		if b.Shadow {
			continue
		}
		d.Source = max(d.Source, o.Source)
		d.Delay = max(d.Delay, o.Delay)
		switch rank := a.rank(i); {
		case rank == rankNever:
			d.deny(Never)
		case o.Err != nil:
			d.fail(rank == rankFailed, o.Err)
		case rank == rankDenied:
			d.deny(Quota)
			d.RetryAfter = max(d.RetryAfter, o.RetryAfter)
		}
		if a.outranks(i, chosen) {
			chosen = i
		}
	}
	if chosen >= 0 {
		d.report(a, chosen)
	}
	d.weighBans(a)
	if !d.Allowed {
		d.Delay = 0
	}
	if d.Reason != Quota && d.Reason != Banned {
		d.RetryAfter = 0
	}
}

// report tells of limit i as the one that decided.
func (d *Decision) report(a *account, i int) {
	o := &a.outcomes[i]
	d.Level, d.Limit, d.Remaining, d.ResetAfter = a.buckets[i].Level, a.shown[i].Limit, o.Remaining, o.ResetAfter
}

func (d *Decision) fail(closed bool, err error) {
	if d.Err == nil {
		d.Err = err
	}
	if closed || FaultOf(err) == FaultCaller {
		d.deny(StoreFailed)
	}
}

// severity orders the reasons that limits give: no wait helps against Never, a store that failed says
// nothing of when the quota would be there, and a ban outlasts the quota.
var severity = [...]int{Quota: 1, Banned: 2, StoreFailed: 3, Never: 4, Invalid: 0}

// deny refuses for the reason that outlasts the others.
func (d *Decision) deny(r Reason) {
	d.Allowed = false
	if severity[r] > severity[d.Reason] {
		d.Reason = r
	}
}

var errNegativeCost = errors.New("core: cost is negative, want 0 or more")
