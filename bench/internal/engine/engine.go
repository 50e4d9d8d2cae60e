// Package engine puts every limiter that is compared behind one interface, one file each.
//
// Each is set up as its own documentation advises, on its own best client, and asked with keys
// that are already made, so that a peer pays for its decision and for nothing of ours.
package engine

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Request is what one decision is about. It belongs to one goroutine, which fills it again and
// again.
type Request struct {
	IP       netip.Addr
	User     string
	Endpoint string

	// Keys are the same identities as the peers want them: one string a level, with the
	// level's name in front.
	Keys []string

	// What an engine keeps between the requests of one goroutine.
	buckets  []core.Bucket
	outcomes []core.Outcome
}

// Get gives the levels after the third their keys. It makes a Request fit core.Request.Header.
func (r *Request) Get(level string) string {
	for i := namedLevels; i < len(r.Keys); i++ {
		if LevelName(i) == level {
			return r.Keys[i]
		}
	}
	return ""
}

// Engine is a limiter over one client. Take is safe for concurrent use.
type Engine interface {
	// Take decides about one request at all its levels. An error is no decision; one that
	// a limiter made without Redis, because it could not reach it, is an error as well.
	Take(ctx context.Context, r *Request) (bool, error)
	Close() error
}

// Setup is what an engine is made for.
type Setup struct {
	Addr   string // of the Redis server
	Pool   int    // connections, so many that no caller waits for one; 0: the client's default
	Levels int
	Limits int // limits a level; only ours can have more than 1
	Limit  core.Limit
}

// Kind is one way to make an engine.
type Kind struct {
	Name string
	Open func(Setup) (Engine, error)

	Ours      bool
	Reference bool // no limiter that one would run: a yardstick
	AdmitsAll bool // a yardstick that never denies
	// DeniedOnly is that it differs from another kind in denied traffic alone.
	DeniedOnly bool
	// Coarse is that its bucket refills by whole seconds at one unit or more, so that
	// slow limits cannot be had.
	Coarse bool
}

// ErrLocal is that a limiter which should have asked Redis answered by itself.
var ErrLocal = errors.New("decided without Redis")

// unit is the time in which one unit comes back.
func unit(l core.Limit) time.Duration { return max(l.Period/time.Duration(l.Quota), 1) }

// Find gives the kind with that name.
func Find(kinds []Kind, name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
