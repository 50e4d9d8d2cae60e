package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// The scripts and the process decide alike, whatever is done to a bucket: the same integers in
// two languages. The general script and the quick one are held to it in turn.
func TestStoresAgree(t *testing.T) {
	t.Parallel()
	steps, seed := differentialSteps(t), differentialSeed(t)
	names := slices.Sorted(maps.Keys(kinds))
	for _, name := range append(names, "all mixed") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mix := []string{name}
			if name == "all mixed" {
				mix = names
			}
			server := redistest.Start(t)
			client := dial(t, server.Addr())
			start, done := time.Now(), 0
			for round := uint64(0); done < steps && !t.Failed(); round++ {
				server.Do(t, "FLUSHALL")
				done += newPair(t, client, seed, round, mix).run(200)
			}
			t.Logf("%d steps in %v", done, time.Since(start).Round(time.Millisecond))
		})
	}
}

// pair is the two stores, and buckets that both have.
type pair struct {
	t      *testing.T
	r      *rand.Rand
	seed   string
	clock  *storetest.Clock
	redis  *redisstore.Store
	mem    *memstore.Store
	keys   []string
	limits [][]core.Limit // of each key
	paid   []charged
	wait   time.Duration // that one of the latest answers told
	past   []string      // what was done last
}

// charged is a take that can be refunded, by what each store said of it.
type charged struct {
	buckets    []core.Bucket
	redis, mem []core.Outcome
}

func newPair(t *testing.T, client redisstore.Client, seed, round uint64, mix []string) *pair {
	p := &pair{t: t, r: rand.New(rand.NewPCG(seed, round)), clock: new(storetest.Clock)}
	p.seed = fmt.Sprintf("TIERLIMIT_SEED=%d, round %d", seed, round)
	// Up to three years. Where ticks are no nanoseconds, a whole one is where the process' own begin.
	p.clock.Advance(time.Duration(p.r.Int64N(1e11)) * time.Millisecond)
	p.redis = redisstore.Must(client, redisstore.WithClock(p.clock.Now))
	p.mem = memstore.New(memstore.WithClock(p.clock.Now))
	for i := range 1 + p.r.IntN(8) {
		kind := mix[p.r.IntN(len(mix))]
		p.keys = append(p.keys, fmt.Sprint(kind, i))
		p.limits = append(p.limits, kinds[kind](p.r))
	}
	return p
}

// run makes so many batches, and tells how many checks that were.
func (p *pair) run(batches int) (checks int) {
	defer p.mem.Close()
	defer p.redis.Close()
	for range batches {
		checks += p.batch()
		if p.t.Failed() || p.clock.Now().Year() > 2200 { // from 2262 on, time is no integer of nanoseconds
			break
		}
		p.clock.Advance(min(p.gap(), 10*365*24*time.Hour))
	}
	return checks
}

func (p *pair) batch() int {
	takes, general := p.r.IntN(3) == 0, p.r.IntN(2) == 0
	batch := make([]redisstore.Check, 1+p.r.IntN(16))
	refunds := make([]*charged, len(batch))
	for i := range batch {
		batch[i], refunds[i] = p.check(takes)
	}
	if err := p.redis.RunBatch(batch, general); err != nil {
		p.t.Fatalf("%s: %v", p.seed, err)
	}
	p.wait = 0
	for i := range batch {
		p.compare(&batch[i], refunds[i], general)
	}
	return len(batch)
}

// compare makes the check in process, and holds the answer of Redis to it.
func (p *pair) compare(c *redisstore.Check, refund *charged, general bool) {
	want := make([]core.Outcome, len(c.Buckets))
	ctx, err := context.Background(), error(nil)
	switch c.Op {
	case "take":
		err = p.mem.Take(ctx, c.Buckets, want)
	case "peek":
		err = p.mem.Peek(ctx, c.Buckets, want)
	case "debit":
		err = p.mem.Debit(ctx, c.Buckets)
	case "reset":
		err = p.mem.Reset(ctx, c.Buckets)
	case "refund":
		err = p.mem.Refund(ctx, c.Buckets, refund.mem)
	}
	if err != nil {
		p.t.Errorf("%s: %v", p.seed, err)
	}
	p.note(c, want, general)
	if c.Op != "take" && c.Op != "peek" {
		return
	}
	for i := range want {
		got := c.Out[i]
		got.Source, got.Receipt = want[i].Source, want[i].Receipt
		if got != want[i] {
			p.t.Errorf("%s: %s\nredis says of the last %+v\n memory %+v", p.seed, p.history(c.Buckets[i].Key), got, want[i])
		}
		p.wait = []time.Duration{p.wait, got.RetryAfter, got.ResetAfter, got.Delay}[p.r.IntN(4)]
	}
	if c.Op == "take" && p.r.IntN(3) == 0 {
		p.paid = append(p.paid, charged{c.Buckets, c.Out, want})
		p.paid = p.paid[max(len(p.paid)-20, 0):]
	}
}
