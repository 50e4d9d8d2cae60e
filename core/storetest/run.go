// Package storetest is the contract that every core.Store keeps, as tests. A store's own tests
// call Run; what they test beside it is what only that store has.
package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// harness is a store under test and the clock it lives by.
type harness struct {
	Store core.Store // closed by the suite
	Clock *Clock
}

// Clock is a clock that stands still until it is moved. The zero Clock stands at an instant
// in 2026. It is safe for concurrent use.
type Clock struct{ passed atomic.Int64 }

// Now is the clock's present instant.
func (c *Clock) Now() time.Time {
	return time.Unix(1_790_000_000, 0).Add(time.Duration(c.passed.Load()))
}

// Advance moves the clock; backward if d is negative.
func (c *Clock) Advance(d time.Duration) { c.passed.Add(int64(d)) }

// Run holds the stores that open makes, each empty and new, to the contract.
func Run(t *testing.T, open func(t *testing.T, clock *Clock) core.Store) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, *harness){
		atomicity, bucketTests, changeTests, everyTests, everyChangeTests, togetherTests, leakyTests, shapeTests, windowTests, calendarTests,
		limitTests, longTests, lifeTests, modelTests, banTests,
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				h := &harness{Clock: new(Clock)}
				h.Store = open(t, h.Clock)
				t.Cleanup(func() {
					if err := h.Store.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
				})
				test(t, h)
			})
		}
	}
}

// bucket is a bucket of a key of its own, at cost 1.
func bucket(key string, l core.Limit) core.Bucket {
	return core.Bucket{Key: "1t:contract::" + key + ":1s:id", Limit: l, Cost: 1, Level: key}
}

func (h *harness) take(t *testing.T, buckets ...core.Bucket) []core.Outcome {
	t.Helper()
	out := make([]core.Outcome, len(buckets))
	if err := h.Store.Take(context.Background(), buckets, out); err != nil {
		t.Fatalf("Take: %v", err)
	}
	return out
}

func (h *harness) peek(t *testing.T, buckets ...core.Bucket) []core.Outcome {
	t.Helper()
	out := make([]core.Outcome, len(buckets))
	if err := h.Store.Peek(context.Background(), buckets, out); err != nil {
		t.Fatalf("Peek: %v", err)
	}
	return out
}

// left is what a bucket holds now.
func (h *harness) left(t *testing.T, b core.Bucket) int64 {
	t.Helper()
	return h.peek(t, b)[0].Remaining
}

// spend takes n times and returns how often that was admitted.
func (h *harness) spend(t *testing.T, b core.Bucket, n int) (admitted int) {
	t.Helper()
	for range n {
		if h.take(t, b)[0].Charged {
			admitted++
		}
	}
	return admitted
}

func costing(b core.Bucket, units int64) core.Bucket {
	b.Cost = units
	return b
}

func shadow(b core.Bucket) core.Bucket {
	b.Shadow = true
	return b
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func show(o core.Outcome) string {
	return fmt.Sprintf("admits %v charged %v remaining %d retry %v reset %v delay %v", o.Admits, o.Charged, o.Remaining, o.RetryAfter, o.ResetAfter, o.Delay)
}
