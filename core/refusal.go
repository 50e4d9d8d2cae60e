package core

import "time"

// refusal is a bucket whose level's guard has refused the request.
type refusal struct {
	bucket int
	wait   time.Duration
}

// turnAway decides a request that guards refuse, so that no store is asked.
func (a *account) turnAway(refused []refusal) {
	a.decided = true
	for i := range a.outcomes {
		a.outcomes[i] = Outcome{Source: FromLocal, Skipped: true}
	}
	for _, r := range refused {
		o := &a.outcomes[r.bucket]
		o.Skipped, o.RetryAfter, o.ResetAfter = false, r.wait, r.wait
	}
}
