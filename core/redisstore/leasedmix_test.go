package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// mix drives a store that leases and one that does not with the same requests, over buckets that
// give nothing back by themselves.
type mix struct {
	t             *testing.T
	rng           *rand.Rand
	leases, plain *redisstore.Store
	look          *redisstore.Store // at what leases has left in Redis
	buckets       []core.Bucket
	spent         map[string]int64 // what requests were charged by the store that leases
}

// A request is charged at every level or at none, whichever of them a lease answered for: what is
// missing in Redis in the end is what the requests say they were charged. While the leased buckets
// hold enough, both stores decide alike.
func TestLeasesKeepAllOrNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	first := rand.Uint64()
	for i := range rounds {
		seed := first + uint64(i)
		m := &mix{t: t, rng: rand.New(rand.NewPCG(seed, 9)), spent: map[string]int64{}}
		age := redisstore.WithDenyCache([]time.Duration{0, time.Minute}[m.rng.IntN(2)])
		m.leases = open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithPrefix(fmt.Sprint("l", i)), age)
		m.look = open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithPrefix(fmt.Sprint("l", i)))
		m.plain = open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithPrefix(fmt.Sprint("p", i)), age)
		for k := range 2 + m.rng.IntN(4) {
			b := leased(fmt.Sprint("hot", k), core.Per(100_000, 1_000_000*time.Hour))
			if k > 0 && m.rng.IntN(2) == 0 {
				b = bucket(fmt.Sprint("cold", k), core.Per(1+m.rng.Int64N(300), 1_000_000*time.Hour))
				b.Shadow = m.rng.IntN(4) == 0
			}
			m.buckets = append(m.buckets, b)
		}
		for range 300 {
			m.step()
		}
		m.settle()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// request is some of the buckets in any order.
func (m *mix) request() []core.Bucket {
	m.rng.Shuffle(len(m.buckets), func(i, j int) { m.buckets[i], m.buckets[j] = m.buckets[j], m.buckets[i] })
	out := append([]core.Bucket(nil), m.buckets[:1+m.rng.IntN(len(m.buckets))]...)
	cost := 1 + m.rng.Int64N(3)
	for i := range out {
		out[i].Cost = cost
	}
	return out
}

func (m *mix) step() {
	buckets := m.request()
	got, want := take(m.t, m.leases, buckets...), take(m.t, m.plain, buckets...)
	m.count(buckets, got, 1)
	for i, b := range buckets {
		g, w := got[i], want[i]
		if !g.Skipped && !w.Skipped && (g.Admits != w.Admits || g.Charged != w.Charged) {
			m.t.Errorf("%s of %d: %+v, without leases %+v", b.Level, len(buckets), g, w)
		}
		if !g.Skipped && !b.Lease && g.Remaining != w.Remaining {
			m.t.Errorf("%s: %d left, without leases %d", b.Level, g.Remaining, w.Remaining)
		}
	}
	if m.rng.IntN(10) > 0 {
		return
	}
	for store, outcomes := range map[*redisstore.Store][]core.Outcome{m.leases: got, m.plain: want} {
		if err := store.Refund(context.Background(), buckets, outcomes); err != nil {
			m.t.Errorf("refund: %v", err)
		}
	}
	m.count(buckets, got, -1)
}

func (m *mix) count(buckets []core.Bucket, out []core.Outcome, sign int64) {
	for i := range buckets {
		if out[i].Charged {
			m.spent[buckets[i].Key] += sign * buckets[i].Cost
		}
	}
}

// settle closes the store that leases and looks at what its buckets hold.
func (m *mix) settle() {
	peeks := make([]core.Bucket, len(m.buckets))
	for i, b := range m.buckets {
		b.Cost, peeks[i] = 1, b
	}
	held := m.leases.Leases()
	_ = m.leases.Close()
	m.t.Logf("%d leases, %v charged", held, m.spent)
	for _, b := range peeks {
		if got, want := peek(m.t, m.look, b).Remaining, b.Limit.Capacity()-m.spent[b.Key]; got != want {
			m.t.Errorf("%s: %d left in Redis, want %d", b.Level, got, want)
		}
	}
}
