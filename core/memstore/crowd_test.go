package memstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// crowded is a store with room for so many buckets in each shard, a clock to move, and buckets
// that all belong in one shard.
func crowded(t *testing.T, room, n int) (*Store, *time.Duration, []core.Bucket) {
	t.Helper()
	passed := new(time.Duration)
	s := New(WithMaxEntries(room*leastShards), WithClock(func() time.Time { return time.Unix(0, int64(*passed)) }))
	t.Cleanup(s.janitor.stop) // the clock is not for two goroutines
	s.janitor.stop()
	var buckets []core.Bucket
	for i := 0; len(buckets) < n; i++ {
		b := core.Bucket{Key: fmt.Sprint("key", i), Limit: core.Per(1, time.Second), Cost: 1, Level: fmt.Sprint("level", i)}
		var sl slot
		if err := s.aim(&sl, &b, s.clock()); err != nil {
			t.Fatal(err)
		}
		if sl.shard == 0 {
			buckets = append(buckets, b)
		}
	}
	return s, passed, buckets
}

func takeAll(t *testing.T, s *Store, buckets ...core.Bucket) []core.Outcome {
	t.Helper()
	out := make([]core.Outcome, len(buckets))
	if err := s.Take(context.Background(), buckets, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// wantDebts holds each bucket to its own debt: one unit of one second each.
func wantDebts(t *testing.T, s *Store, buckets ...core.Bucket) {
	t.Helper()
	for i, o := range takeAll(t, s, buckets...) {
		if o.Admits || o.RetryAfter != time.Second {
			t.Errorf("bucket %d of %d: %+v, want its own debt of a second", i, len(buckets), o)
		}
	}
}

// Of two buckets of one request, one gets the last room in their shard and the other shares.
func TestTwoBucketsWithRoomForOne(t *testing.T) {
	s, _, b := crowded(t, 3, 4)
	takeAll(t, s, b[0], b[1])
	for _, o := range takeAll(t, s, b[2], b[3]) {
		if !o.Charged {
			t.Errorf("%+v, want a charge", o)
		}
	}
	if got := s.Stats(); got.Entries != 3 || got.Overflowed != 1 {
		t.Errorf("%+v, want 3 entries and one without room", got)
	}
	wantDebts(t, s, b...)
}

// A bucket whose paid cell another of the same request takes gets another cell, not that one back.
func TestPaidCellIsTakenByAnotherOfTheRequest(t *testing.T) {
	for _, room := range []int{4, 5, 64} {
		s, passed, b := crowded(t, room, 8)
		takeAll(t, s, b[:4]...)
		*passed += time.Second
		// New ones first, who take what the others had, or they first.
		for _, order := range [][]int{{4, 5, 0, 1}, {2, 6, 3, 7}, {0, 4, 1, 5}, {7, 3, 6, 2}} {
			request := []core.Bucket{b[order[0]], b[order[1]], b[order[2]], b[order[3]]}
			for i, o := range takeAll(t, s, request...) {
				if !o.Charged {
					t.Errorf("room for %d, order %v: bucket %d is not charged: %+v", room, order, i, o)
				}
			}
			wantDebts(t, s, request...)
			if n := s.Stats().Entries; n > room {
				t.Errorf("room for %d: %d entries", room, n)
			}
			*passed += time.Second
		}
	}
}

// The room that a paid bucket of the request gives up in a full shard is its own again before it is
// another's.
func TestSweepForOneKeepsRoomForTheOther(t *testing.T) {
	s, passed, b := crowded(t, 2, 4)
	takeAll(t, s, b[0])
	*passed += 500 * time.Millisecond
	takeAll(t, s, b[1])
	*passed += 500 * time.Millisecond // b[0] has paid
	for _, o := range takeAll(t, s, b[0], b[2]) {
		if !o.Charged {
			t.Errorf("%+v, want a charge", o)
		}
	}
	if got := s.Stats(); got.Entries != 2 || got.Overflowed != 1 {
		t.Errorf("%+v, want 2 entries and one without room", got)
	}
	wantDebts(t, s, b[0], b[2])
}

// Eight new buckets of one request may make their shard grow between one's charge and the next's.
func TestTableGrowsWithinARequest(t *testing.T) {
	s, _, b := crowded(t, 1024, 700)
	for i := 0; i+7 <= len(b); i += 7 {
		takeAll(t, s, b[i:i+7]...)
		wantDebts(t, s, b[:i+7]...)
	}
	if n := s.Stats().Entries; n != 700 {
		t.Errorf("%d entries, want 700", n)
	}
}

// What is paid on the spot leaves the others of a chain where they can be found.
func TestDroppedBucketHidesNoOther(t *testing.T) {
	s, _, b := crowded(t, 1024, 200)
	takeAll(t, s, b...)
	for i := 0; i < len(b); i += 3 {
		if err := s.Reset(context.Background(), b[i:i+1]); err != nil {
			t.Fatal(err)
		}
		b[i].Cost = 0 // gone
	}
	for i := range b {
		if b[i].Cost > 0 {
			wantDebts(t, s, b[i])
		}
	}
}
