package memstore

import (
	"sync"

	"github.com/tierlimit/tierlimit/core"
)

// overflow holds the buckets that keys without room share, one for each level and limit.
type overflow struct {
	mu      sync.Mutex
	entries map[overflowKey]entry
}

type overflowKey struct {
	level string
	limit core.Limit
}
