package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// dump is every key with its value and the instant at which it expires.
func dump(t *testing.T, server *redistest.Server) string {
	t.Helper()
	names := keys(t, server)
	slices.Sort(names)
	var b strings.Builder
	for _, k := range names {
		fmt.Fprintln(&b, k, server.Do(t, "GET", k), server.Do(t, "PEXPIRETIME", k))
	}
	return b.String()
}

// A server that takes no writes takes none of a batch, and what it took is as if never asked.
func TestRefusedBatchLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]struct {
		start, stop []any
		says        string
	}{
		"out of memory":    {[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, "OOM"},
		"replica":          {[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, "READONLY"},
		"too few replicas": {[]any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, "NOREPLICAS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client := server.Client(t)
			g := &gate{Client: client}
			s := open(t, g, redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
			ctx := context.Background()
			old := func(i int) core.Bucket { return bucket(fmt.Sprint("old", i), core.PerHour(100)) }
			outs := make([][]core.Outcome, 10)
			for i := range outs {
				outs[i] = take(t, s, old(i))
			}
			before := dump(t, server)
			server.Do(t, state.start...)
			gather(t, s, g, 50, func(i int) {
				b := []core.Bucket{old(i % 10), bucket(fmt.Sprint("new", i), core.PerHour(100))}
				var err error
				switch i % 4 {
				case 0, 1:
					_, err = try(s, b...)
				case 2:
					err = s.Debit(ctx, b)
				case 3:
					err = s.Refund(ctx, b[:1], outs[i%10])
				}
				if core.FaultOf(err) != core.FaultStore || err == nil || !strings.Contains(err.Error(), state.says) {
					t.Errorf("check %d: fault %v of %v, want %s", i, core.FaultOf(err), err, state.says)
				}
			})
			server.Do(t, state.stop...)
			if after := dump(t, server); after != before {
				t.Errorf("the refused batch made\n%sof\n%s", after, before)
			}
			if o := take(t, s, old(0))[0]; o.Remaining != 98 {
				t.Errorf("%d left afterwards, want 98", o.Remaining)
			}
		})
	}
}

// Reads go on where writes do not: what changes nothing is answered.
func TestServerThatTakesNoWritesStillAnswersWhatNeedsNone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	b := bucket("b", core.PerHour(2))
	take(t, s, costing(b, 2))
	server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	if o := peek(t, s, b); o.Remaining != 0 || o.Admits {
		t.Errorf("peek: %+v", o)
	}
	if o := take(t, s, b)[0]; o.Admits {
		t.Errorf("take of an empty bucket: %+v", o)
	}
}

// Where a write is refused after others were made, those are undone. Only a missing right
// brings that about: here that to DEL, which a reset needs and a charge does not.
func TestWriteRefusedHalfwayUndoesTheOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	some := slices.DeleteFunc(slices.Clone(rights), func(r any) bool { return r == "+del" })
	g := &gate{Client: restricted(t, server, some...)}
	s := open(t, g, redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	old := func(i int) core.Bucket { return bucket(fmt.Sprint("old", i), core.PerHour(100)) }
	for i := range 10 {
		take(t, all, old(i))
	}
	gather(t, s, g, 10, func(i int) {
		var err error
		if i == 9 {
			err = s.Reset(context.Background(), []core.Bucket{old(i)})
		} else {
			_, err = try(s, old(i))
		}
		if err == nil {
			t.Errorf("check %d: no error", i)
		}
	})
	for i := range 10 {
		if o := peek(t, all, old(i)); o.Remaining != 99 {
			t.Errorf("bucket %d: %d left, want 99 as before", i, o.Remaining)
		}
		if ttl := server.Do(t, "PTTL", stored(old(i))).(int64); ttl < 30_000 || ttl > 73_000 {
			t.Errorf("bucket %d: it lives %d ms, want about 36500", i, ttl)
		}
	}
}
