package core

import "time"

// headerItem is one limit as a client sees it.
type headerItem struct {
	limit   *planLimit
	outcome *Outcome
	limiter string // whose limit it is, where that has to be told
}

// items appends the limits to show, of earlier limiters first. What is in shadow is not shown,
// and what nobody has judged is not invented.
func (a *account) items(out []headerItem) []headerItem {
	limiter := ""
	if a.earlier != nil {
		out, limiter = a.earlier.items(out), a.table.name
	}
	for i := range a.shown {
		if o := &a.outcomes[i]; !a.buckets[i].Shadow && o.Err == nil && !o.Skipped {
			out = append(out, headerItem{a.shown[i], o, limiter})
		}
	}
	return out
}

// tightest is the item for formats that know only one.
func tightest(items []headerItem) (tight headerItem) {
	for n, i := range items {
		if n == 0 || tighter(i.outcome, tight.outcome) {
			tight = i
		}
	}
	return tight
}

// left is what the draft calls the available quota: a burst above the quota is not shown, since
// clients read it as a share of q.
func (i headerItem) left() int64 { return min(max(i.outcome.Remaining, 0), i.limit.Quota) }

func (i headerItem) reset() int64 { return seconds(i.outcome.ResetAfter) }

// resetAt is reset on the clock, in seconds since the epoch.
func (i headerItem) resetAt(now time.Time) int64 { return ceilUnix(now.Add(i.outcome.ResetAfter)) }

// appendNamed writes text, which begins with the limit's name in quotes. A limiter's name has
// nothing to escape.
func (i headerItem) appendNamed(b []byte, text string) []byte {
	if i.limiter == "" {
		return append(b, text...)
	}
	b = append(append(append(b, '"'), i.limiter...), ':')
	return append(b, text[1:]...)
}
