package core

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// maxSpellings bounds what is remembered; a service has fewer routes, and one that gives raw paths
// for endpoints must not fill the memory with them.
const maxSpellings = 1024

// spellings remembers the one spelling of templates that are written in another, as those of most
// frameworks are.
type spellings struct {
	known  atomic.Pointer[map[string]string] // never changed, only replaced
	adding sync.Mutex
}

// of is normalizeEndpoint.
func (s *spellings) of(endpoint string) string {
	if normal(endpoint) {
		return endpoint
	}
	if known := s.known.Load(); known != nil {
		if spelling, ok := (*known)[endpoint]; ok {
			return spelling
		}
	}
	spelling := normalizeEndpoint(endpoint)
	s.add(endpoint, spelling)
	return spelling
}

// add keeps a copy of endpoint: some frameworks' strings change under whoever keeps them.
func (s *spellings) add(endpoint, spelling string) {
	s.adding.Lock()
	defer s.adding.Unlock()
	known := map[string]string{}
	if old := s.known.Load(); old != nil {
		if len(*old) >= maxSpellings {
			return
		}
		known = maps.Clone(*old)
	}
	known[strings.Clone(endpoint)] = spelling
	s.known.Store(&known)
}
