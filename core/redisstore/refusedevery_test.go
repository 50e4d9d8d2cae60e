package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// What a server refuses to write leaves nothing, whatever the algorithm and the operation.
func TestRefusedWritesLeaveNothingOfAnyAlgorithm(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]struct{ start, stop []any }{
		"out of memory": {[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}},
		"replica":       {[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
			ctx := context.Background()
			var old, fresh []core.Bucket
			for name, l := range algorithms {
				old, fresh = append(old, bucket("old "+name, l)), append(fresh, bucket("new "+name, l))
			}
			take(t, s, old...)
			out := take(t, s, old...) // to give this back is to write, not to delete
			before := dump(t, server)
			server.Do(t, state.start...)
			_, taken := try(s, append(slices.Clone(fresh), old...)...)
			for op, err := range map[string]error{
				"take": taken, "debit of old": s.Debit(ctx, old), "debit of new": s.Debit(ctx, fresh), "refund": s.Refund(ctx, old, out),
			} {
				if err == nil {
					t.Errorf("%s: no error", op)
				}
			}
			server.Do(t, state.stop...)
			if after := dump(t, server); after != before {
				t.Errorf("what was refused made\n%sof\n%s", after, before)
			}
			for i, o := range take(t, s, old...) {
				if want := old[i].Limit.Start() - 3; o.Remaining != want {
					t.Errorf("%v: %d left afterwards, want %d", old[i].Limit, o.Remaining, want)
				}
			}
		})
	}
}

// Where a write is refused after others were made, those are undone: here a reset's, which needs the
// right to DEL.
func TestHalfwayRefusalIsUndoneInEveryAlgorithm(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	all := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	some := slices.DeleteFunc(slices.Clone(rights), func(r any) bool { return r == "+del" })
	g := &gate{Client: restricted(t, server, some...)}
	s := open(t, g, redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	var old []core.Bucket
	for name, l := range algorithms {
		old = append(old, bucket(name, l))
	}
	last := bucket("last", core.PerHour(5))
	take(t, all, append(slices.Clone(old), last)...)
	take(t, all, old...)
	value := func() (text string) {
		for _, b := range old {
			text += fmt.Sprintf("%q\n", server.Do(t, "GET", stored(b)))
		}
		return text
	}
	before := value()
	gather(t, s, g, 2, func(i int) {
		var err error
		if i == 0 {
			_, err = try(s, old...)
		} else {
			err = s.Reset(context.Background(), []core.Bucket{last})
		}
		if err == nil {
			t.Errorf("check %d: no error", i)
		}
	})
	if after := value(); after != before {
		t.Errorf("the refused batch left\n%sof\n%s", after, before)
	}
	for _, b := range old {
		if ttl := server.Do(t, "PTTL", stored(b)).(int64); ttl < 60_000 {
			t.Errorf("%v: it lives %d ms", b.Limit, ttl)
		}
	}
}
