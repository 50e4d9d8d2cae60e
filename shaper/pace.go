package shaper

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// pace is a worker's view of the tempo.
type pace struct {
	tempo
	store core.Store
	trips []time.Duration // how long the latest calls took, as many as recent
	turn  int
}

const (
	recent = 64
	first  = 5 // calls before a slot is taken: those that connect, and some that tell how far Redis is
)

// slot is when a job may be started, on this process' monotonic clock. Redis' own instant of it lies
// before due, by at most the time that its reply took.
type slot struct{ due, latest time.Time }

// lead is how long before a slot its job is marked as started: some round trips, so that the mark is
// out of the way by then.
func (p *pace) lead() time.Duration { return max(50*time.Millisecond, 4*slices.Min(p.trips)) }

// missed reports whether a start now would come so late that it could crowd with those after it.
func (s slot) missed() bool { return time.Now().After(s.latest) }

// reserve takes the next free slot. Where too many are given out already it waits for one: each
// worker for a while of its own, as those ahead of it need no hurry.
func (p *pace) reserve(ctx context.Context) (slot, error) {
	out := make([]core.Outcome, 1)
	for len(p.trips) < first {
		asked := time.Now()
		if err := p.store.Peek(context.WithoutCancel(ctx), []core.Bucket{p.bucket}, out); err != nil {
			return slot{}, err
		}
		p.note(time.Since(asked))
	}
	for {
		asked := time.Now()
		// Not ctx: a slot that was left would be wasted where later ones are out.
		err := p.store.Take(context.WithoutCancel(ctx), []core.Bucket{p.bucket}, out)
		switch answered := time.Now(); {
		case err != nil:
			return slot{}, err
		case out[0].Err != nil:
			return slot{}, out[0].Err
		case out[0].Admits:
			return p.slot(asked, answered, out[0].Delay), nil
		}
		if err := sleep(ctx, out[0].RetryAfter+rand.N(p.spread+1)); err != nil {
			return slot{}, err
		}
	}
}

// slot counts the delay from the answer, so that no start is early. What the answer took longer than
// the shortest of late is lateness already.
func (p *pace) slot(asked, answered time.Time, delay time.Duration) slot {
	p.note(answered.Sub(asked))
	return slot{due: answered.Add(delay), latest: asked.Add(slices.Min(p.trips) + delay + p.slack)}
}

func (p *pace) note(trip time.Duration) {
	if len(p.trips) < recent {
		p.trips = append(p.trips, trip)
		return
	}
	p.trips[p.turn] = trip
	p.turn = (p.turn + 1) % recent
}

// sleep returns ctx's error where that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
