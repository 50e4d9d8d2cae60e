package core

// Algorithm names how a limit counts. Which of them a store can run is in its Traits;
// New refuses a limit whose algorithm its store does not have.
type Algorithm uint8

// The algorithms. TokenBucket is the zero value and what every store has; the stores of this
// module have all.
const (
	// TokenBucket holds up to Burst units and refills continuously at Quota per Period.
	// Any Period admits at most Burst + Quota.
	TokenBucket Algorithm = iota
	// LeakyBucket queues up to Burst units, one of them being served, and says by a Delay when each is
	// due, so that they go out Period/Quota apart. With Burst 1 nothing waits: what comes
	// too early is refused.
	LeakyBucket
	// FixedWindow counts in windows aligned to the Unix epoch, which WithOffset and PerCalendar
	// change. Across an edge it admits up to twice Quota within one Period.
	FixedWindow
	// SlidingWindow counts two windows, and weighs the previous one by how much of it a Period back
	// from now still holds, as if its units had come evenly, to a whole unit. When the present window
	// is through by a share f, the estimate is at most f of the previous window's units too low, or
	// 1-f of them too high. Any Period admits at most twice Quota; a window, Quota.
	SlidingWindow
	// SlidingLog remembers every admission for a Period: at most Quota in any Period, exactly. It
	// keeps as many entries as there are admissions, up to Quota: use it for small quotas.
	SlidingLog
)

var algorithmNames = [...]string{"token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"}

// String returns the name used in policy files, "token_bucket" and so on.
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return "unknown algorithm"
}

// ParseAlgorithm is the inverse of String; ok is false for any other text.
func ParseAlgorithm(name string) (a Algorithm, ok bool) {
	for i, n := range algorithmNames {
		if n == name {
			return Algorithm(i), true
		}
	}
	return 0, false
}
