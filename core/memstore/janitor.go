package memstore

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	janitorPeriod = 250 * time.Millisecond
	janitorShare  = 16 // of the shards at a time, so that no request waits long for a sweep
)

// janitor frees the memory of entries that owe nothing. No decision depends on it. It runs only
// while there are entries, so a store that is never closed leaves nothing behind once its
// buckets are full again.
type janitor struct {
	awake  atomic.Bool
	mu     sync.Mutex
	quit   chan struct{} // nil while asleep
	done   sync.WaitGroup
	closed bool
}

func (j *janitor) wake(s *Store) {
	if j.awake.Load() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.quit != nil {
		return
	}
	j.quit = make(chan struct{})
	j.awake.Store(true)
	j.done.Add(1)
	go j.run(s, j.quit)
}

func (j *janitor) run(s *Store, quit chan struct{}) {
	defer j.done.Done()
	tick := time.NewTicker(janitorPeriod)
	defer tick.Stop()
	for left, part := 0, 0; ; part = (part + 1) % janitorShare {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		if part == 0 {
			left = 0
		}
		for i := part; i < len(s.shards); i += janitorShare {
			left += s.clean(&s.shards[i])
		}
		if s.overflow.sweep(s) && left == 0 && part == janitorShare-1 && j.sleep(s) {
			return
		}
	}
}

// sleep ends the janitor unless an entry came in the meantime.
func (j *janitor) sleep(s *Store) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.awake.Store(false)
	if s.entries() > 0 {
		j.awake.Store(true)
		return false
	}
	j.quit = nil
	return true
}

func (j *janitor) stop() {
	j.mu.Lock()
	if j.quit != nil {
		close(j.quit)
		j.quit = nil
	}
	j.closed = true
	j.mu.Unlock()
	j.done.Wait()
}
