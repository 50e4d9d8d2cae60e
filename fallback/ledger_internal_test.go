package fallback

import (
	"context"
	"fmt"
	"hash/maphash"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// However many buckets an outage touches, so many are noted and no more; the others are counted.
func TestTheLedgerIsBounded(t *testing.T) {
	l := ledger{seed: maphash.MakeSeed()}
	begun := 0
	enter := func(i int) {
		b := core.Bucket{Key: fmt.Sprint(i), Limit: core.PerHour(10), Cost: 1}
		l.enter(&b, func() (string, int64) { begun++; return "", 1 })
	}
	for i := range mostOwing + 1000 {
		enter(i)
	}
	if n := l.size.Load(); n != mostOwing {
		t.Errorf("%d buckets are noted, want %d", n, mostOwing)
	}
	if n := l.missed.Load(); begun != mostOwing+1000 || n < 990 || n > 1000 {
		t.Errorf("%d buckets were readied and %d counted as missed, want all and 1000 but for a few whose hashes collide", begun, n)
	}
	once := l.missed.Load()
	for range 100 {
		enter(mostOwing)
	}
	if n := l.missed.Load(); n != once {
		t.Errorf("%d counted as missed, want %d: one of them is back, no other has come", n, once)
	}
	if !l.has("0") || l.has(fmt.Sprint(mostOwing)) {
		t.Error("the first is not noted, or the last is")
	}
	l.forget("0")
	l.each(func(*owing) bool { return true })
	if n := l.size.Load(); n != 0 {
		t.Errorf("%d buckets are noted of none", n)
	}
	for i := range mostOwing + 1000 { // another outage
		enter(i)
	}
	if n := l.missed.Load(); n < once+990 {
		t.Errorf("%d counted as missed in two outages, want %d", n, 2*once)
	}
}

// In a long outage, what has refilled makes room.
func TestWhatHasRefilledMakesRoom(t *testing.T) {
	s, err := New(answers{memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := make([]core.Outcome, 1)
	for i := range mostOwing {
		b := core.Bucket{Key: fmt.Sprint(i), Limit: core.Per(1, time.Millisecond), Cost: 1}
		if i%100 == 0 {
			b.Limit = core.PerHour(1)
		}
		local := s.scaled(&b)
		s.prepare(&b, &local, errDegraded)
		if err := s.local.Take(context.Background(), []core.Bucket{local}, out); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Millisecond)
	s.tidy()
	if n := s.ledger.size.Load(); n != (mostOwing+99)/100 {
		t.Errorf("%d buckets are noted, want the %d that owe something", n, (mostOwing+99)/100)
	}
}
