package shaper

import (
	"errors"
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// tempo is where a queue's pace is kept: one bucket that all its workers share.
type tempo struct {
	store  core.Store
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
	// patience is the store's budget. A late answer's slot is given back although later ones may be
	// out, so there must hardly be any.
	patience = 5 * time.Second
)

func newTempo(client Client, prefix, name string, limit core.Limit) (tempo, error) {
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
	unit := (limit.Period-1)/time.Duration(limit.Quota) + 1
	if unit > 24*365*time.Hour {
		return tempo{}, errors.New("limit: period is more than a year for each unit of the quota, want less")
	}
	slots := min(max(int64(ahead/unit), 2), maxSlots)
	store, err := redisstore.New(client, redisstore.WithPrefix(prefix), redisstore.WithBudget(patience), redisstore.WithDenyCache(0))
	if err != nil {
		return tempo{}, err
	}
	return tempo{
		store: store, unit: unit, slack: max(unit/2, minSlack), spread: time.Duration(slots-1) * unit / 2,
		bucket: core.Bucket{
			Key: "shaper:{" + name + "}:pace", Cost: 1, Level: "shaper",
			Limit: limit.With(core.TokenBucket).WithBurst(slots),
		},
	}, nil
}

// delay is after how long the unit that was taken has its turn. A token bucket whose burst is the
// slots that may be given out ahead is a leaky bucket: what it owed before the charge is the queue that
// the unit has to wait for.
func (t *tempo) delay(o core.Outcome) time.Duration {
	return time.Duration(t.bucket.Limit.Burst-o.Remaining-2)*t.unit + o.ResetAfter
}
