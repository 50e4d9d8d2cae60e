package core

import (
	"context"
	"time"
)

// Settler is a shared store that can be charged for what was admitted while it was away, where the answer
// to that may be lost and the charge be made again.
type Settler interface {
	// DebitOnce charges each bucket what it is owed, down to empty at most, but for those that a call with
	// the same id has charged already. A repetition must have the same buckets; the id is remembered for
	// SettleMemory. After an error any of the buckets may have been charged.
	DebitOnce(ctx context.Context, id string, owed []Owed) error
}

// SettleMemory is how long at least a Settler knows the id of a charge that it has made.
const SettleMemory = 15 * time.Minute

// Owed is a charge that is no number of whole units: some of it has come back already.
type Owed struct {
	Bucket Bucket        // its Cost is not looked at
	Time   time.Duration // in which the bucket refills as much; 0 or more
}
