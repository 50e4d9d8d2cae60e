package core

import (
	"slices"
	"sync"
	"sync/atomic"
)

// maxTiers bounds what is remembered of a level: a service has a handful of plans, and one that
// makes limits up for each caller must not fill the memory with them.
const maxTiers = 16

// tiers are the answers of a level's LimitsFor, compiled.
type tiers struct {
	known  atomic.Pointer[[]tier] // never changed, only replaced
	adding sync.Mutex
}

type tier struct {
	given  []Limit
	limits []planLimit
}

// of gives the compiled form of limits, nil for none.
func (t *tiers) of(given []Limit) []planLimit {
	if known := t.known.Load(); known != nil {
		for i := range *known {
			if k := &(*known)[i]; slices.Equal(k.given, given) {
				return k.limits
			}
		}
	}
	return nil
}

// add remembers a copy of given, which is the service's and may change.
func (t *tiers) add(given []Limit, limits []planLimit) {
	t.adding.Lock()
	defer t.adding.Unlock()
	var known []tier
	if old := t.known.Load(); old != nil {
		known = *old
	}
	if len(known) < maxTiers && t.of(given) == nil {
		known = append(slices.Clip(known), tier{slices.Clone(given), limits})
		t.known.Store(&known)
	}
}
