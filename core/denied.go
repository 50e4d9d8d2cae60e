package core

import "fmt"

// DeniedError is a refusal as an error, for a framework's central error handling: errors.As finds
// it and, in it, the decision.
type DeniedError struct{ Decision Decision }

// Error says which level refused and for how long, or what refused in place of a level.
func (e *DeniedError) Error() string {
	d := &e.Decision
	switch {
	case d.Reason == StoreFailed:
		return "rate limiter unavailable"
	case d.Reason == Listed:
		return "forbidden: on the deny list"
	case d.Reason == Banned:
		return fmt.Sprintf("banned for exceeding the rate limit repeatedly: level %s, for %v", d.Level, d.RetryAfter)
	case d.RetryAfter > 0:
		return fmt.Sprintf("rate limit exceeded: level %s, retry after %v", d.Level, d.RetryAfter)
	}
	return "rate limit exceeded: level " + d.Level
}

// Unwrap is why the store failed, if it did.
func (e *DeniedError) Unwrap() error { return e.Decision.Err }
