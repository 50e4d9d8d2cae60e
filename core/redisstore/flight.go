package redisstore

import (
	"runtime"
	"time"
)

// flight sends one batch after the other, as long as there is one.
type flight struct {
	queue *queue
	batch batch
	timer *time.Timer // gives up the present batch
	since time.Time   // when that left
	out   bool
	late  bool // it was given up: another flight has its place
}

func newFlight(q *queue) *flight {
	f := &flight{queue: q}
	f.timer = time.AfterFunc(time.Hour, f.giveUp)
	f.timer.Stop()
	return f
}

// fly ends when no call is waiting, or after a batch that was late.
func (f *flight) fly() {
	q := f.queue
	for f.leave() {
		f.timer.Reset(q.budget)
		err := q.send(&f.batch)
		f.timer.Stop()
		f.batch.clear()
		if !f.land(err) {
			break
		}
		q.report(err)
		runtime.Gosched() // those just answered, who may ask again, belong into the next batch
	}
	f.end()
}

// leave takes the batch that is sent now; without one the flight is over.
func (f *flight) leave() bool {
	q := f.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fill(&f.batch)
	if len(f.batch.calls) == 0 {
		q.drop(f)
		return false
	}
	f.since, f.out = time.Now(), true
	return true
}

// giveUp stops counting on a flight whose answer is late, and lets another leave. The timer that
// calls it may fire just as the answer comes, or as the next batch leaves.
func (f *flight) giveUp() {
	q := f.queue
	q.mu.Lock()
	if !f.out || time.Since(f.since) < q.budget {
		q.mu.Unlock()
		return
	}
	f.late, q.lateAt = true, time.Now()
	q.overdue++
	q.drop(f)
	q.start()
	q.mu.Unlock()
	q.report(errBudget)
}

// land reports whether the batch came back in time.
func (f *flight) land(err error) bool {
	q := f.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	f.out = false
	q.trip.note(time.Since(f.since), err != nil)
	if f.late {
		q.overdue--
		q.start()
	}
	if !f.late || err == nil {
		q.lateAt = time.Time{}
	}
	return !f.late
}

func (f *flight) end() {
	q := f.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.airborn--; q.airborn == 0 && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
	f.late = false
	q.spare = append(q.spare, f)
}
