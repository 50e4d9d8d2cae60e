package redisstore

import (
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	maxInFlight = 2   // calls under way: more would make each batch smaller, not the answer sooner
	maxOverdue  = 8   // calls given up but not returned; bounds what a hung client can hold
	maxBatch    = 128 // checks in one call; bounds how long Redis is busy with it
)

var errLate = errors.New("redisstore: every call under way is late")

// queue groups checks into calls without any timer: a check that finds fewer than maxInFlight
// calls under way leaves at once, the others leave together when a call returns.
type queue struct {
	budget time.Duration
	send   func(batch []*call) error
	report func(error) // once for each call that was sent

	mu      sync.Mutex
	waiting []*call
	flights []*flight     // under way and in time
	overdue int           // under way and given up
	airborn int           // under way at all
	idle    chan struct{} // closed when none is; nil: nobody waits for that
}

// flight sends one batch after the other.
type flight struct {
	since time.Time // when its present batch left
	trip  int       // which batch that is; 0: none is out
	late  bool
}

// join adds c to the next batch. It refuses where waiting is hopeless: when every call under
// way has taken half the budget already, Redis hangs, and c would only wait for the rest.
func (q *queue) join(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.room() {
		now := time.Now()
		if !slices.ContainsFunc(q.flights, func(f *flight) bool { return now.Sub(f.since) < q.budget/2 }) {
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

func (q *queue) room() bool { return len(q.flights) < maxInFlight && q.overdue < maxOverdue }

// start lets a batch leave if one may and there is one.
func (q *queue) start() {
	if len(q.waiting) == 0 || !q.room() {
		return
	}
	f := &flight{since: time.Now()}
	q.flights = append(q.flights, f)
	q.airborn++
	go q.fly(f)
}

// fly sends batch after batch until none is waiting, or until one is so late that another
// flight has taken its place.
func (q *queue) fly(f *flight) {
	defer q.end()
	for trip := 1; ; trip++ {
		batch := q.next(f, trip)
		if batch == nil {
			return
		}
		timer := time.AfterFunc(q.budget, func() { q.giveUp(f, trip) })
		err := q.send(batch)
		timer.Stop()
		if !q.land(f) {
			return
		}
		q.report(err)
	}
}

// next takes the batch that leaves now; nil ends the flight.
func (q *queue) next(f *flight, trip int) []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	// Those whose caller has left were never sent, so they were never charged.
	q.waiting = slices.DeleteFunc(q.waiting, (*call).pointless)
	if len(q.waiting) == 0 {
		q.waiting = nil
		q.drop(f)
		return nil
	}
	n := min(len(q.waiting), maxBatch)
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	f.since, f.trip = time.Now(), trip
	return batch
}

// giveUp stops counting on a flight whose answer is late, and lets another leave. The timer that
// calls it may fire just as the answer comes.
func (q *queue) giveUp(f *flight, trip int) {
	q.mu.Lock()
	if f.trip != trip {
		q.mu.Unlock()
		return
	}
	f.late = true
	q.overdue++
	q.drop(f)
	q.start()
	q.mu.Unlock()
	q.report(errBudget)
}

// land reports whether the flight came back in time.
func (q *queue) land(f *flight) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.trip = 0
	if f.late {
		q.overdue--
		q.start()
	}
	return !f.late
}

func (q *queue) drop(f *flight) {
	if i := slices.Index(q.flights, f); i >= 0 {
		q.flights = slices.Delete(q.flights, i, i+1)
	}
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.airborn--; q.airborn == 0 && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
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
