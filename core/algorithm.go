package core

// Algorithm names how a limit counts. Which of them a store can run is in its Traits;
// New refuses a limit whose algorithm its store does not have.
type Algorithm uint8

// The algorithms. TokenBucket is the zero value and what every store has; the stores of this
// module have no other yet.
const (
	// TokenBucket holds up to Burst units and refills continuously at Quota per Period.
	// Any Period admits at most Burst + Quota.
	TokenBucket Algorithm = iota
	// LeakyBucket queues up to Burst units and serves them Period/Quota apart.
	LeakyBucket
	// FixedWindow counts in windows aligned to the epoch.
	FixedWindow
	// SlidingWindow weighs the previous window by what is left of it.
	SlidingWindow
	// SlidingLog remembers every admission: at most Quota in any Period.
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
