package fallback

import (
	"fmt"
	"hash/maphash"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestWhatIsFullTheSoonestMakesRoom(t *testing.T) {
	k := known{seed: maphash.MakeSeed()}
	k.note("never", 0, 1)
	if k.table.Load() != nil {
		t.Error("memory was taken for a bucket that owes nothing")
	}
	const many = 4 * knownWays * knownGroups
	for i := range int64(many) {
		k.note(fmt.Sprint(i), 1000+i, 1)
	}
	late := 0
	for i := int64(many - 10_000); i < many; i++ {
		if full, ok := k.recall(fmt.Sprint(i), 1); ok {
			late++
			if full != 1000+i {
				t.Fatalf("bucket %d is full at %d, want %d", i, full, 1000+i)
			}
		}
	}
	if late < 9_900 { // a few groups have more than they can hold
		t.Errorf("%d of the 10000 that owe the most are remembered", late)
	}
	last := fmt.Sprint(many - 1)
	if _, ok := k.recall(last, 1000+many); ok {
		t.Error("a bucket that is full is remembered as one that is not")
	}
	k.note(last, 0, 1)
	if _, ok := k.recall(last, 1); ok {
		t.Error("not forgotten")
	}
}

// A place that is read while it is written says nothing or the truth.
func TestTornPlacesSayNothing(t *testing.T) {
	k := known{seed: maphash.MakeSeed()}
	k.note("0", 1<<40, 1)
	var wg sync.WaitGroup
	for w := range int64(4) {
		wg.Go(func() {
			for i := range int64(50_000) {
				key := i % 8
				k.note(fmt.Sprint(key), (key+1)<<40+w, 1)
				if full, ok := k.recall(fmt.Sprint(key), 1); ok && full>>40 != key+1 {
					t.Errorf("bucket %d is full at %d", key, full)
					return
				}
			}
		})
	}
	wg.Wait()
}

// answers is a shared store that has nothing to do but answer.
type answers struct{ *memstore.Store }

func (answers) Traits() core.Traits { return core.Traits{} }

// What a healthy store says is noted without an allocation.
func TestLearningAllocatesNothing(t *testing.T) {
	s, err := New(answers{memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	buckets, out := learnt()
	if n := testing.AllocsPerRun(100, func() { s.learn(buckets, out) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func learnt() ([]core.Bucket, []core.Outcome) {
	var buckets []core.Bucket
	var out []core.Outcome
	for _, key := range []string{"1t:shop::ip:1m:192.0.2.1", "1t:shop::user:1m:alice@example.com", "1t:shop::endpoint:1s:GET /items/:id"} {
		buckets = append(buckets, core.Bucket{Key: key, Limit: core.PerMinute(100), Cost: 1})
		out = append(out, core.Outcome{Admits: true, Charged: true, Source: core.FromShared, Remaining: 50, ResetAfter: 300 * time.Millisecond})
	}
	return buckets, out
}

func BenchmarkLearn(b *testing.B) {
	s, err := New(answers{memstore.New()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	buckets, out := learnt()
	for b.Loop() {
		s.learn(buckets, out)
	}
}
