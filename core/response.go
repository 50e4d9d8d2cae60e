package core

import (
	"encoding/json"
	"iter"
)

// Headers are the response headers of the decision: the formats that the limiter was made
// with, and Retry-After on a denial that ends by itself. Set them, do not add: they are of all
// the limiters that decided this request. Reading them twice gives the same values.
func (d Decision) Headers() iter.Seq2[string, string] {
	// No more than this, so that it is inlined and neither iterator nor loop body is on the heap.
	return func(yield func(string, string) bool) { d.headers(yield) }
}

func (d *Decision) headers(yield func(string, string) bool) {
	a := d.account
	if a == nil {
		return
	}
	var itemRoom [8]headerItem
	var textRoom [384]byte
	var fieldRoom [8]field // two formats and Retry-After
	list := fieldList{textRoom[:0], fieldRoom[:0]}
	if items := a.items(itemRoom[:0]); len(items) > 0 {
		for _, f := range a.table.headers {
			list = list.add(f, items, a.now)
		}
	}
	if !d.Allowed && d.RetryAfter > 0 {
		list = list.number("Retry-After", d.retryAfter())
	}
	list.each(yield)
}

// retryAfter is the delay-seconds of RFC 9110 section 10.2.3, at least 1, spread upward by the
// jitter.
func (d *Decision) retryAfter() int64 {
	wait := max(seconds(d.RetryAfter), 1)
	return wait + int64(float64(wait)*d.account.table.jitter*d.account.spread)
}

// shownName tells a second limiter's limits from the first one's.
func (a *account) shownName(i int) string {
	if a.earlier == nil {
		return a.shown[i].name
	}
	return a.table.name + ":" + a.shown[i].name
}

// The problem types of draft-ietf-httpapi-ratelimit-headers-11 section 5.
const (
	problemTypes    = "https://iana.org/assignments/http-problem-types#"
	quotaExceeded   = "quota-exceeded"
	reducedCapacity = "temporary-reduced-capacity"
)

type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"`
}

// ProblemType is the media type of Problem (RFC 9457).
const ProblemType = "application/problem+json"

// Problem is the body of a refusal: problem details (RFC 9457) with the policies that were
// violated. It is nil for an allowed decision.
func (d Decision) Problem() []byte {
	if d.Allowed {
		return nil
	}
	p := problem{
		Type:   problemTypes + quotaExceeded,
		Title:  "Request cannot be satisfied as assigned quota has been exceeded",
		Status: d.Status(), Violated: d.violated(),
	}
	switch d.Reason {
	case StoreFailed:
		p.Type, p.Title = problemTypes+reducedCapacity, "Request cannot be satisfied due to temporary server capacity constraints"
	case Never:
		p.Detail = "The request costs more than the policy ever admits; waiting does not help."
	case Invalid:
		p.Type, p.Title, p.Detail = "about:blank", "Too Many Requests", "The cost of the request is not valid."
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil // strings and an int always marshal
	}
	return body
}

func (d Decision) violated() []string {
	a := d.account
	if a == nil {
		return nil
	}
	var out []string
	for i := range a.buckets {
		if !a.buckets[i].Shadow && a.rank(i) >= rankDenied {
			out = append(out, a.shownName(i))
		}
	}
	return out
}
