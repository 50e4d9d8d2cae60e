package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// lifeTests: what surrounds the buckets.
var lifeTests = map[string]func(*testing.T, *harness){
	"a closed store says so, and closing twice is harmless": func(t *testing.T, h *harness) {
		b := []core.Bucket{bucket("b", core.PerMinute(2))}
		out := make([]core.Outcome, 1)
		for range 2 {
			if err := h.Store.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
		}
		ctx := context.Background()
		for name, err := range map[string]error{
			"Take": h.Store.Take(ctx, b, out), "Peek": h.Store.Peek(ctx, b, out), "Debit": h.Store.Debit(ctx, b),
			"Refund": h.Store.Refund(ctx, b, []core.Outcome{{Charged: true}}), "Reset": h.Store.Reset(ctx, b),
		} {
			if !errors.Is(err, core.ErrClosed) {
				t.Errorf("%s after Close: %v, want ErrClosed", name, err)
			}
		}
	},

	"no buckets are no work": func(t *testing.T, h *harness) {
		h.take(t)
		h.peek(t)
		h.debit(t)
		h.refund(t, nil, nil)
	},

	"keys as long as they get": func(t *testing.T, h *harness) {
		a, b := bucket("a", core.PerMinute(2)), bucket("b", core.PerMinute(2))
		a.Key = strings.Repeat("k", 319) + "a"
		b.Key = strings.Repeat("k", 319) + "b"
		h.spend(t, a, 2)
		equal(t, "left of the other", h.left(t, b), 2)
	},

	"the algorithms it claims include the token bucket": func(t *testing.T, h *harness) {
		if algorithms := h.Store.Traits().Algorithms; len(algorithms) == 0 || algorithms[0] != core.TokenBucket {
			t.Errorf("algorithms are %v, want the token bucket first", algorithms)
		}
	},
}
