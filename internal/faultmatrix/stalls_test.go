package faultmatrix_test

import (
	"sync"
	"time"
)

// tooLong is a stall of the machine that makes a cell worth another try.
const tooLong = 20 * time.Millisecond

// stalls are the times at which the machine, which others use too, kept a goroutine waiting that wants
// nothing but to sleep 1 ms.
type stalls struct {
	mu   sync.Mutex
	list []span
	stop chan struct{}
	done sync.WaitGroup
}

type span struct{ from, to time.Time }

func watchStalls() *stalls {
	s := &stalls{stop: make(chan struct{})}
	s.done.Go(func() {
		for {
			due := time.Now().Add(time.Millisecond)
			select {
			case <-s.stop:
				return
			case <-time.After(time.Millisecond):
			}
			if now := time.Now(); now.Sub(due) > time.Millisecond {
				s.mu.Lock()
				s.list = append(s.list, span{due, now})
				s.mu.Unlock()
			}
		}
	})
	return s
}

func (s *stalls) end() { close(s.stop); s.done.Wait() }

func (s *stalls) longest() (d time.Duration) {
	for _, at := range s.list {
		d = max(d, at.to.Sub(at.from))
	}
	return d
}

// within is how much of a time was spent stalled.
func (s *stalls) within(from, to time.Time) (d time.Duration) {
	for _, at := range s.list {
		begin, end := at.from, at.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		d += max(0, end.Sub(begin))
	}
	return d
}
