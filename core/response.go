package core

import "iter"

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
