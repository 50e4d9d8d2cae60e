package redisstore

import "sync"

// watchers are told of each script call once (see core.Watcher).
type watchers struct {
	mu    sync.RWMutex
	funcs []func(partition string, err error)
}

// Watch adds a function that is told of each script call.
func (s *Store) Watch(f func(partition string, err error)) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.funcs = append(s.watch.funcs, f)
}

func (s *Store) report(partition string, err error) {
	s.watch.mu.RLock()
	defer s.watch.mu.RUnlock()
	for _, f := range s.watch.funcs {
		f(partition, err)
	}
}
