package core

import (
	"context"
	"time"
)

// Census is a shared store that can count the replicas of a service, so that each knows its share of
// the limits when the store fails. The count is the store's, by its own clock; replicas whose keys have the
// same prefix are counted together. Both methods may be called while requests are decided and must not
// wait for longer than a decision would.
type Census interface {
	// Live takes note that a replica is there for ttl from now, and counts those that are.
	Live(ctx context.Context, replica string, ttl time.Duration) (n int, err error)
	// Leave takes a replica out of the count.
	Leave(ctx context.Context, replica string) error
}
