package fallback_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/fallback"
)

func spend(t *testing.T, s core.Store, b core.Bucket, n int) (charged int) {
	t.Helper()
	for range n {
		if take(t, s, b)[0].Charged {
			charged++
		}
	}
	return charged
}

// What the shared store said was left is shared out, not what the limit is.
func TestALocalBucketStartsFromItsShareOfWhatWasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		spent int64
		want  int
	}{"untouched": {0, 25}, "one": {1, 24}, "most": {60, 10}, "all but three": {97, 0}, "all": {100, 0}} {
		t.Run(name, func(t *testing.T) {
			shared := newFake()
			s := wrap(t, shared, fallback.WithReplicas(4))
			b := at("b", core.Local, 100, 1)
			if c.spent > 0 {
				first := b
				first.Cost = c.spent
				take(t, s, first)
			}
			shared.fail(errDown)
			if n := spend(t, s, b, 50); n != c.want {
				t.Errorf("%d admitted locally after %d of 100 were spent, want %d", n, c.spent, c.want)
			}
		})
	}
}

// What would have come back by now has.
func TestWhatWasLeftHasRefilled(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	b := core.Bucket{Key: "b", Limit: core.PerSecond(100), Cost: 100, Level: "b"}
	start := time.Now()
	take(t, s, b)
	time.Sleep(300 * time.Millisecond)
	shared.fail(errDown)
	b.Cost = 1
	n := spend(t, s, b, 100)
	if most := int(time.Since(start)/(10*time.Millisecond)) + 1; n < 30 || n > most {
		t.Errorf("%d admitted, want 30 to %d", n, most)
	}
}

// A local bucket is never filled by what the shared store says: what was admitted here in an earlier outage
// was admitted.
func TestALocalBucketIsNotRefilledBetweenOutages(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared, fallback.WithReplicas(2))
	b := at("b", core.Local, 100, 1)
	total := 0
	for range 3 {
		shared.fail(errDown)
		total += spend(t, s, b, 100)
		shared.fail(nil)
		eventually(t, "back", 2*time.Second, func() bool { return !s.Health().Degraded })
	}
	if total != 50 {
		t.Errorf("%d admitted locally over three outages, want the share of 50 once", total)
	}
}

func TestAResetIsRemembered(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	b := at("b", core.Local, 10, 1)
	spend(t, s, b, 10)
	if err := s.Reset(t.Context(), []core.Bucket{b}); err != nil {
		t.Fatal(err)
	}
	shared.fail(errDown)
	if n := spend(t, s, b, 20); n != 10 {
		t.Errorf("%d admitted after a reset, want 10", n)
	}
}

// An algorithm that the local half does not have is a token bucket here: as much of it as is left.
func TestAnotherAlgorithmIsWarmToo(t *testing.T) {
	shared := newSettler()
	s := wrap(t, shared, fallback.WithReplicas(2))
	b := at("b", core.Local, 100, 1)
	b.Limit.Algorithm = core.SlidingLog
	spend(t, s, b, 80)
	shared.fail(errDown)
	if n := spend(t, s, b, 50); n != 10 {
		t.Errorf("%d admitted locally with 20 left and a share of a half, want 10", n)
	}
	shared.fail(nil)
	eventually(t, "back", 2*time.Second, func() bool { return !s.Health().Degraded })
	time.Sleep(50 * time.Millisecond)
	if _, calls := shared.seen(); calls != 0 {
		t.Errorf("charged after the outage, though only a token bucket can be")
	}
}
