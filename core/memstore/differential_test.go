package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// run drives a store and one model for each key with the same random operations.
type run struct {
	t      *testing.T
	rng    *rand.Rand
	store  *memstore.Store
	clock  *clock
	models map[string]*model
	keys   []string
	limits []core.Limit
	ran    string // what was done, for the report
	last   []core.Bucket
	out    []core.Outcome // of the last Take, while it may still be refunded
}

// Whatever is done to it, the store says of a bucket what a textbook bucket says.
func TestStoreAgreesWithTheTextbook(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	first := rand.Uint64()
	for i := range rounds {
		seed := first + uint64(i)
		r := &run{t: t, rng: rand.New(rand.NewPCG(seed, 2)), models: map[string]*model{}}
		r.store, r.clock = frozen(t)
		for range 2 + r.rng.IntN(4) {
			r.limits = append(r.limits, randomLimit(r.rng))
		}
		for k := range 1 + r.rng.IntN(5) {
			r.keys = append(r.keys, fmt.Sprint("key", k))
		}
		for range 120 {
			r.step()
			if t.Failed() {
				t.Fatalf("seed %d, after %s", seed, r.ran)
			}
		}
	}
}

func randomLimit(rng *rand.Rand) core.Limit {
	periods := []time.Duration{100 * time.Millisecond, time.Second, 7 * time.Second, time.Minute, 24 * time.Hour, time.Duration(1 + rng.Int64N(1e12))}
	l := core.Per(1+rng.Int64N(20), periods[rng.IntN(len(periods))])
	if l.Quota > int64(l.Period) {
		l.Quota = 1
	}
	if rng.IntN(2) == 0 {
		l.Burst = 1 + rng.Int64N(30)
	}
	return l
}

// buckets chooses some of the keys, each once, in any order, each under any of the limits.
func (r *run) buckets() []core.Bucket {
	keys := slices.Clone(r.keys)
	r.rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	out := make([]core.Bucket, 1+r.rng.IntN(len(keys)))
	for i := range out {
		l := r.limits[0]
		if r.rng.IntN(20) == 0 { // the policy has changed
			l = r.limits[r.rng.IntN(len(r.limits))]
		}
		out[i] = core.Bucket{Key: keys[i], Limit: l, Cost: 1 + r.rng.Int64N(1+r.rng.Int64N(4)), Level: "user", Shadow: r.rng.IntN(6) == 0}
	}
	return out
}

func (r *run) model(b *core.Bucket) *model {
	now := r.clock.ns.Load()
	m, ok := r.models[b.Key]
	if !ok {
		return newModel(b.Limit, now)
	}
	return m.as(b.Limit, now)
}

func (r *run) step() {
	b := r.buckets()
	var err error
	switch n := r.rng.IntN(20); {
	case n < 8:
		r.judge(b, true)
		return
	case n < 10:
		r.judge(b, false)
		return
	case n < 16:
		r.advance(&b[0])
		return
	case n < 17:
		r.ran = fmt.Sprintf("Debit(%+v)", b)
		err = r.store.Debit(context.Background(), b)
		r.change(b, func(i int, m *model) { m.debit(b[i].Cost) })
	case n < 18 && r.out != nil:
		r.refund()
		return
	default:
		if r.rng.IntN(4) > 0 {
			return
		}
		r.ran = fmt.Sprintf("Reset(%+v)", b)
		err = r.store.Reset(context.Background(), b)
		r.change(b, func(_ int, m *model) { m.add(rat(1 << 40)) })
	}
	if err != nil {
		r.t.Error(err)
	}
	r.out = nil // a refund would meet another history
}

func (r *run) change(b []core.Bucket, f func(i int, m *model)) {
	for i := range b {
		m := r.model(&b[i])
		f(i, m)
		r.models[b[i].Key] = m
	}
}

// advance moves the clock to a telling instant: when a unit is back, a nanosecond before, or any.
func (r *run) advance(b *core.Bucket) {
	m := r.model(b)
	steps := []time.Duration{m.next(), m.next() - 1, m.until(b.Limit.Capacity()), time.Duration(r.rng.Int64N(int64(b.Limit.Period))), 1}
	d := max(steps[r.rng.IntN(len(steps))], 0)
	r.ran = fmt.Sprintf("%v went by", d)
	r.clock.advance(d)
}

func (r *run) judge(b []core.Bucket, charge bool) {
	r.ran = fmt.Sprintf("judge(%+v, charge %v)", b, charge)
	models, want := make([]*model, len(b)), make([]core.Outcome, len(b))
	all := true
	for i := range b {
		models[i] = r.model(&b[i]).forgiven()
		want[i].Admits = models[i].admits(b[i].Cost)
		all = all && (want[i].Admits || b[i].Shadow)
	}
	for i, m := range models {
		if !want[i].Admits {
			want[i].RetryAfter = m.until(b[i].Cost)
		}
		if charge && want[i].Admits && (all || b[i].Shadow) {
			want[i].Charged = true
			m.add(rat(-b[i].Cost))
		}
		if charge {
			r.models[b[i].Key] = m
		}
		want[i].Remaining, want[i].ResetAfter = m.remaining(), m.next()
	}
	got := make([]core.Outcome, len(b))
	judge := r.store.Peek
	if charge {
		judge, r.last, r.out = r.store.Take, b, got
	}
	if err := judge(context.Background(), b, got); err != nil {
		r.t.Error(err)
	}
	for i := range got {
		g := got[i]
		g.Receipt, g.Source = core.Receipt{}, 0
		if b[i].Cost > b[i].Limit.Capacity() {
			g.RetryAfter, want[i].RetryAfter = 0, 0 // never
		}
		if g != want[i] {
			r.t.Errorf("bucket %d of %d: %+v, want %+v", i, len(b), g, want[i])
		}
	}
}

// refund gives back the latest charges, which time pays for last.
func (r *run) refund() {
	b, out := slices.Clone(r.last), r.out
	for i := range b {
		b[i].Cost = 1 + r.rng.Int64N(r.last[i].Cost)
	}
	r.ran = fmt.Sprintf("Refund(%+v)", b)
	if err := r.store.Refund(context.Background(), b, out); err != nil {
		r.t.Error(err)
	}
	r.change(b, func(i int, m *model) {
		if out[i].Charged {
			m.add(rat(b[i].Cost)) // no further than full
		}
	})
	r.out = nil
}
