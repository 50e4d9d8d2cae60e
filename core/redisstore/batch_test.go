package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestChecksThatArriveDuringACallShareTheNext(t *testing.T) {
	t.Parallel()
	for n, most := range map[int]int64{1: 1, 2: 1, 128: 1, 129: 2, 300: 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client := server.Client(t)
			warm(t, client, 2)
			g := &gate{Client: client}
			s := open(t, g, redisstore.WithBudget(patient))
			left := make([]int64, n)
			gather(t, s, g, n, func(i int) {
				out := take(t, s, bucket(fmt.Sprint("own", i), core.PerHour(1)), bucket("shared", core.PerHour(1000)))
				if left[i] = out[1].Remaining; !out[0].Charged {
					t.Errorf("check %d: its own bucket: %+v", i, out[0])
				}
			})
			if got := g.count.Load() - 2; got > most {
				t.Errorf("%d checks made %d calls, want %d", n, got, most)
			}
			slices.Sort(left) // two calls may overtake each other
			for i, l := range left {
				if l != int64(1000-n+i) {
					t.Fatalf("%v left of the shared bucket, want each number below 1000 once", left)
				}
			}
		})
	}
}

func TestBusyCallersShareCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	take(t, s, levels("")...)
	server.Do(t, "CONFIG", "RESETSTAT")
	together(64, func(i int) {
		for range 50 {
			take(t, s, levels(fmt.Sprint(i))...)
		}
	})
	n := calls(t, server)
	t.Logf("3200 checks of 3 buckets: %d script calls, %d MGET, %d SET, %d INCRBY", n["evalsha"], n["mget"], n["set"], n["incrby"])
	if n["evalsha"] > 3200/4 {
		t.Errorf("3200 checks of 64 callers made %d calls, want them to share", n["evalsha"])
	}
	if o := peek(t, s, levels("")[2]); o.Remaining != 1_000_000-3201 {
		t.Errorf("%d left, want every check charged once", o.Remaining)
	}
}

// An idle store makes nobody wait for others.
func TestLoneCheckLeavesAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	best := time.Hour
	for range 50 {
		start := time.Now()
		take(t, s, bucket("b", core.PerHour(1000)))
		best = min(best, time.Since(start))
	}
	if best > 10*time.Millisecond && !raceEnabled {
		t.Errorf("the fastest of 50 lone checks took %v", best)
	}
}

// step is one check of a random batch.
type step struct {
	op      string
	buckets []core.Bucket
	out     []core.Outcome
}

func (st *step) run(t *testing.T, s core.Store) {
	ctx, err := context.Background(), error(nil)
	switch st.op {
	case "take":
		err = s.Take(ctx, st.buckets, st.out)
	case "peek":
		err = s.Peek(ctx, st.buckets, st.out)
	case "debit":
		err = s.Debit(ctx, st.buckets)
	case "reset":
		err = s.Reset(ctx, st.buckets)
	}
	if err != nil {
		t.Errorf("%s: %v", st.op, err)
	}
	for i := range st.out {
		st.out[i].Source, st.out[i].Receipt = 0, core.Receipt{}
	}
}

func randomStep(r *rand.Rand) step {
	st := step{op: []string{"take", "take", "take", "take", "peek", "debit", "reset"}[r.IntN(7)]}
	// Whole minutes, since Redis' own clock, which does not stand still, lets the keys expire.
	limits := []core.Limit{core.PerHour(10), core.Per(7, 21*time.Minute), core.PerHour(5), core.PerHour(3).WithBurst(20)}
	for _, k := range r.Perm(5)[:1+r.IntN(3)] {
		b := bucket(fmt.Sprint("b", k), limits[k%len(limits)])
		if r.IntN(10) == 0 {
			b.Limit = limits[r.IntN(len(limits))] // the same key under another limit, as while a policy changes
		}
		b.Cost, b.Shadow = 1+r.Int64N(4), r.IntN(4) == 0
		st.buckets = append(st.buckets, b)
	}
	st.out = make([]core.Outcome, len(st.buckets))
	return st
}

// What a batch decides is what its checks would have decided one after the other.
func TestBatchIsItsChecksOneAfterTheOther(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := &gate{Client: server.Client(t)}
	clock := new(storetest.Clock)
	s := open(t, g, redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	model := memstore.New(memstore.WithClock(clock.Now))
	defer model.Close()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 10 {
		steps, want := make([]step, 60), make([]step, 60)
		for i := range steps {
			steps[i] = randomStep(r)
			want[i] = step{steps[i].op, steps[i].buckets, make([]core.Outcome, len(steps[i].buckets))}
			want[i].run(t, model)
		}
		before, room := g.count.Load(), s.Room()
		gather(t, s, g, len(steps), func(i int) { steps[i].run(t, s) })
		if n := int(g.count.Load() - before); n > room+3 { // those that were held, and for the script
			t.Fatalf("seed %d: %d calls, want one batch", seed, n-room)
		}
		for i := range steps {
			if !reflect.DeepEqual(steps[i].out, want[i].out) {
				t.Fatalf("seed %d, round %d, check %d, %s of %+v:\n got %+v\nwant %+v", seed, round, i, steps[i].op, steps[i].buckets, steps[i].out, want[i].out)
			}
		}
		clock.Advance(time.Duration(r.Int64N(90)) * time.Minute)
	}
}
