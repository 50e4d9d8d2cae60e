package memstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// A decision of up to eight buckets leaves no work to the garbage collector, whatever it is.
func TestDecisionsAllocateNothing(t *testing.T) {
	s, ctx := open(t), context.Background()
	for n := 1; n <= 8; n++ {
		for name, limit := range map[string]core.Limit{
			"admitted": core.PerHour(1_000_000), "denied": core.PerHour(1), "coarse": core.PerHour(1).WithBurst(1e12),
		} {
			buckets, out := make([]core.Bucket, n), make([]core.Outcome, n)
			for i := range buckets {
				buckets[i] = bucket(fmt.Sprint(name, n, "/", i), limit, 1)
			}
			for method, f := range map[string]func() error{
				"Take":   func() error { return s.Take(ctx, buckets, out) },
				"Peek":   func() error { return s.Peek(ctx, buckets, out) },
				"Refund": func() error { return s.Refund(ctx, buckets, out) },
				"Debit":  func() error { return s.Debit(ctx, buckets) },
			} {
				if got := testing.AllocsPerRun(100, func() {
					if err := f(); err != nil {
						t.Fatal(err)
					}
				}); got != 0 {
					t.Errorf("%s of %d buckets, %s: %v allocations", method, n, name, got)
				}
			}
		}
	}
}
