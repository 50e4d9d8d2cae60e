package shaper

import (
	"errors"
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// tempo is a queue's pace: one bucket that all its workers share.
type tempo struct {
	bucket core.Bucket
	unit   time.Duration // between two slots
	slack  time.Duration // by how much a start may miss its slot
	spread time.Duration // over which workers that found no slot ask again
}

const (
	// ahead is how far in the future a slot may lie. Workers that hold one and die waste it, so a queue
	// whose workers all die stands still for at most that long, or one slot.
	ahead = time.Second
	// maxSlots bounds the slots given out ahead.
	maxSlots = 1024
	// minSlack is what timers and the network take; with less, fast queues would find most of their
	// slots missed.
	minSlack = 5 * time.Millisecond
	// patience is the budget of the bucket's store. The slot of a late answer is wasted where later ones
	// are out, so there must hardly be any.
	patience = 5 * time.Second
)

func newTempo(name string, limit core.Limit) (tempo, error) {
	switch {
	case limit == core.Unlimited || limit == core.BlockAll:
		return tempo{}, fmt.Errorf("limit is %v, want one with a quota and a period", limit)
	case limit.Burst != 0:
		return tempo{}, fmt.Errorf("limit: burst is %d, want 0: WithBacklog bounds the queue", limit.Burst)
	case limit.Algorithm != core.TokenBucket && limit.Algorithm != core.LeakyBucket:
		return tempo{}, fmt.Errorf("limit: algorithm is %v, want %v or %v", limit.Algorithm, core.LeakyBucket, core.TokenBucket)
	}
	if err := limit.Validate(); err != nil {
		return tempo{}, fmt.Errorf("limit: %w", err)
	}
	if limit.Shaped() {
		return tempo{}, fmt.Errorf("limit is %v, want one without steps or a start", limit)
	}
	unit := (limit.Period-1)/time.Duration(limit.Quota) + 1
	if unit > 24*365*time.Hour {
		return tempo{}, errors.New("limit: period is more than a year for each unit of the quota, want less")
	}
	slots := min(max(int64(ahead/unit), 2), maxSlots)
	return tempo{
		unit: unit, slack: max(unit-unit/8, minSlack), spread: time.Duration(slots-1) * unit / 2,
		bucket: core.Bucket{
			Key: "shaper:{" + name + "}:pace", Cost: 1, Level: "shaper",
			Limit: limit.With(core.LeakyBucket).WithBurst(slots),
		},
	}, nil
}

// openStore makes the store of one worker. One for all would gather what they ask for into few calls,
// and a worker that has to wait for the next call misses its slot.
func openStore(client Client, prefix string) (core.Store, error) {
	return redisstore.New(client, redisstore.WithPrefix(prefix), redisstore.WithBudget(patience), redisstore.WithDenyCache(0))
}
