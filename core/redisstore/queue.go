package redisstore

import (
	"slices"
	"sync"
	"time"
)

const (
	maxOverdue = 8    // calls given up but not returned; bounds what a hung client can hold
	maxBatch   = 128  // checks in one call; bounds how long Redis is busy with it
	maxKeys    = 1024 // keys in one call, but for a single check that has more
)

const errLate = tooLate("redisstore: every call under way is late")

// queue groups checks into calls without any timer: a check that finds room in the air leaves at
// once, the others leave together when a call returns.
type queue struct {
	budget time.Duration
	send   func(*batch) error
	report func(error) // once for each call that was sent
	*hangar

	mu      sync.Mutex
	waiting []*call
	flights []*flight // under way and in time
	overdue int       // under way and given up
	lateAt  time.Time // when a call was given up, if none has been answered since
	airborn int       // under way at all
	trip    trip
	idle    chan struct{} // closed when none is; nil: nobody waits for that
	spare   []*flight     // landed, for another take-off
}

// join adds c to the next batch. It refuses where waiting is hopeless: when every call under
// way has taken half the budget already, or the one before has just taken all of it, Redis hangs, and
// c would only wait for the rest.
func (q *queue) join(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.room() {
		now := time.Now()
		if now.Sub(q.lateAt) < q.budget || !slices.ContainsFunc(q.flights, func(f *flight) bool { return now.Sub(f.since) < q.budget/2 }) {
			return errLate
		}
	}
	q.enter(c)
	return nil
}

// add is join for a check that nobody waits for.
func (q *queue) add(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enter(c)
}

func (q *queue) enter(c *call) {
	q.waiting = append(q.waiting, c)
	q.start()
}

func (q *queue) room() bool { return len(q.flights) < q.trip.flights() && q.overdue < maxOverdue }

// start lets a batch leave if one may and there is one.
func (q *queue) start() {
	if len(q.waiting) == 0 || !q.room() {
		return
	}
	f := q.ready()
	f.since = time.Now()
	q.flights = append(q.flights, f)
	q.airborn++
	go f.fly()
}

func (q *queue) ready() *flight {
	if n := len(q.spare); n > 0 {
		f := q.spare[n-1]
		q.spare = q.spare[:n-1]
		return f
	}
	return newFlight(q)
}

// fill takes the calls that leave now, in order of arrival. Those whose caller has left were
// never sent, so they were never charged.
func (q *queue) fill(b *batch) {
	keys, taken := 0, 0
	for _, c := range q.waiting {
		if len(b.calls) == maxBatch || (keys+len(c.units) > maxKeys && keys > 0) {
			break
		}
		taken++
		if c.pointless() {
			q.release(c)
			continue
		}
		b.calls = append(b.calls, c)
		keys += len(c.units)
	}
	left := copy(q.waiting, q.waiting[taken:])
	clear(q.waiting[left:])
	q.waiting = q.waiting[:left]
}

func (q *queue) drop(f *flight) {
	if i := slices.Index(q.flights, f); i >= 0 {
		q.flights = slices.Delete(q.flights, i, i+1)
	}
}

// quiet reports whether nothing is under way or waiting.
func (q *queue) quiet() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.airborn == 0 && len(q.waiting) == 0
}

// wait returns when nothing is under way, or when most has passed.
func (q *queue) wait(most time.Duration) {
	q.mu.Lock()
	if q.airborn == 0 {
		q.mu.Unlock()
		return
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(most):
	}
}
