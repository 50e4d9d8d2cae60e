package core

import "context"

// bannedID is who a level with bans is about.
type bannedID struct {
	level *planLevel
	id    []byte
}

// addBan enters the bucket of a level's bans and writes its key. It stands behind all limits, and is not
// reported as one.
func (a *account) addBan(b bannedID, keys []byte) (longer []byte) {
	l := b.level
	a.buckets = append(a.buckets, Bucket{Limit: l.ban.Limit, Cost: 1, Level: l.Name, OnFailure: l.OnFailure})
	return append(append(keys, l.ban.prefix...), b.id...)
}

// bans are the indices of the buckets of bans.
func (a *account) bans() (from, to int) { return len(a.shown), len(a.buckets) }

// weighBans refuses for the levels that are banned.
func (d *Decision) weighBans(a *account) {
	for i, to := a.bans(); i < to; i++ {
		switch b, o := &a.buckets[i], &a.outcomes[i]; {
		case o.Err != nil:
			d.fail(b.OnFailure == Closed, o.Err)
			d.Source = max(d.Source, o.Source)
		case !o.Admits && !o.Skipped:
			d.Source = max(d.Source, o.Source)
			d.banned(a, b.Level, o)
		}
	}
}

// banned reports the level's first limit, with nothing left.
func (d *Decision) banned(a *account, level string, o *Outcome) {
	if d.Reason == Banned && d.RetryAfter >= o.RetryAfter {
		return
	}
	if d.deny(Banned); d.Reason != Banned {
		return
	}
	d.RetryAfter = max(d.RetryAfter, o.RetryAfter)
	d.Level, d.Remaining, d.ResetAfter = level, 0, o.RetryAfter
	for i, l := range a.shown {
		if a.buckets[i].Level == level {
			d.Limit = l.Limit
			return
		}
	}
}

// strike counts a denial at each level that has bans and is not banned already.
func (a *account) strike(ctx context.Context) {
	var struck []Bucket
	for i, to := a.bans(); i < to; i++ {
		if o := &a.outcomes[i]; o.Err == nil && (o.Admits || o.Skipped) && a.denies(a.buckets[i].Level) {
			struck = append(struck, a.buckets[i])
		}
	}
	if len(struck) > 0 {
		_ = a.limiter.store.Debit(context.WithoutCancel(ctx), struck) // what cannot be counted is not
	}
}

// denies reports whether a limit of the level refuses for lack of quota.
func (a *account) denies(level string) bool {
	for i := range a.shown {
		if a.buckets[i].Level == level && a.rank(i) == rankDenied {
			return true
		}
	}
	return false
}
