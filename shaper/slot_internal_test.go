package shaper

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func tempoOf(t *testing.T, limit core.Limit) tempo {
	t.Helper()
	made, err := newTempo("mail", limit)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Slots that are taken at once are a unit apart, from now on, as many as are given ahead.
func TestDelaysAreUnitsApart(t *testing.T) {
	t.Parallel()
	for _, limit := range []core.Limit{core.PerSecond(50), core.PerHour(7), core.PerSecond(3), core.PerSecond(100_000)} {
		tempo, store := tempoOf(t, limit), memstore.New()
		out := make([]core.Outcome, 1)
		begun := time.Now()
		var delays []time.Duration
		for range tempo.bucket.Limit.Burst {
			if err := store.Take(t.Context(), []core.Bucket{tempo.bucket}, out); err != nil || !out[0].Admits {
				t.Fatalf("%v: %+v, %v", limit, out[0], err)
			}
			delays = append(delays, out[0].Delay)
		}
		passed := time.Since(begun)
		for i, d := range delays {
			if most := time.Duration(i) * tempo.unit; d > most || d < max(most-passed, 0) {
				t.Errorf("%v: delay %d is %v, want %v less at most %v", limit, i, d, most, passed)
			}
		}
		if last := delays[len(delays)-1]; last > max(ahead, tempo.unit) {
			t.Errorf("%v: a slot is given %v ahead", limit, last)
		}
		_ = store.Close()
	}
}

func TestSlotIsNeverEarlyAndMissedWhenTheNextIsNear(t *testing.T) {
	t.Parallel()
	p := pace{tempo: tempoOf(t, core.PerSecond(50))}
	const usual, delay = time.Millisecond, 30 * time.Millisecond
	asked := time.Now()
	s := p.slot(asked, asked.Add(usual), delay)
	if got := s.due.Sub(asked); got != usual+delay {
		t.Errorf("due after %v, want the delay from the answer on", got)
	}
	// With a usual reply, nearly a unit of lateness is left; with a slow one, what that took is gone.
	if got := s.latest.Sub(s.due); got >= p.unit || got < p.unit/2 {
		t.Errorf("may be %v late, want less than %v", got, p.unit)
	}
	slow := p.slot(asked, asked.Add(usual+25*time.Millisecond), delay)
	if got := slow.latest.Sub(slow.due); got >= 0 {
		t.Errorf("after a reply that took 26 ms a start may be %v late, want none", got)
	}
	if s.missed() || !(slot{latest: time.Now().Add(-1)}).missed() {
		t.Error("missed is not whether the latest instant is over")
	}
	// A path that has become slow is the usual one soon.
	for range recent {
		slow = p.slot(asked, asked.Add(usual+25*time.Millisecond), delay)
	}
	if got := slow.latest.Sub(slow.due); got < p.unit/2 {
		t.Errorf("a path that stays slow leaves %v", got)
	}
	if fast := tempoOf(t, core.PerSecond(100_000)); fast.slack != minSlack {
		t.Errorf("slack %v of a fast queue, want %v", fast.slack, minSlack)
	}
}

// The call that connects says nothing of how long others will take. If it were all that is known, a start
// could be as late as that took.
func TestHowFarTheStoreIsIsKnownBeforeTheFirstSlot(t *testing.T) {
	t.Parallel()
	store := &slowAtFirst{Store: memstore.New()}
	defer store.Close()
	p := pace{tempo: tempoOf(t, core.PerSecond(50)), store: store}
	if _, err := p.reserve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shortest := slices.Min(p.trips); shortest > 50*time.Millisecond || store.takes != 1 {
		t.Errorf("the usual call is thought to take %v, and %d slots were taken", shortest, store.takes)
	}
	if len(p.trips) != first+1 {
		t.Errorf("%d calls known, want %d", len(p.trips), first+1)
	}
}

// slowAtFirst is a store whose first call connects.
type slowAtFirst struct {
	core.Store
	calls, takes int
}

func (s *slowAtFirst) call() {
	if s.calls++; s.calls == 1 {
		time.Sleep(100 * time.Millisecond)
	}
}

func (s *slowAtFirst) Peek(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	s.call()
	return s.Store.Peek(ctx, b, out)
}

func (s *slowAtFirst) Take(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	s.call()
	s.takes++
	return s.Store.Take(ctx, b, out)
}
