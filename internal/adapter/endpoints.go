package adapter

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxEndpoints bounds what is remembered: routes are the service's, but some routers take any
// method that a client sends.
const maxEndpoints = 1024

// Endpoints remembers the endpoints of routes, so that a request need not put its own together.
type Endpoints struct {
	known  atomic.Pointer[map[route]string] // never changed, only replaced
	adding sync.Mutex
}

type route struct{ method, path string }

// Of is the endpoint of a route, or "" where it is not known.
func (e *Endpoints) Of(method, path string) string {
	if known := e.known.Load(); known != nil {
		return (*known)[route{method, path}]
	}
	return ""
}

// Add makes the endpoint of a route and remembers it, and keeps neither of the strings it is given.
func (e *Endpoints) Add(method, path string) string {
	endpoint := method + " " + path
	e.adding.Lock()
	defer e.adding.Unlock()
	known := map[route]string{}
	if old := e.known.Load(); old != nil {
		if len(*old) >= maxEndpoints {
			return endpoint
		}
		known = maps.Clone(*old)
	}
	known[route{endpoint[:len(method)], endpoint[len(method)+1:]}] = endpoint
	e.known.Store(&known)
	return endpoint
}
