package redisstore_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/selfexec"
)

// processEnv makes the test binary one of several processes that share a Redis, instead of running tests.
const processEnv = "TIERLIMIT_TEST_PROCESS"

// task is what a process is told.
type task struct {
	Addrs   []string
	Cluster bool
	Prefix  string
	Age     time.Duration // of the deny cache
	Process int
	Seed    uint64
	Times   int
	Begin   time.Time
}

// event is one thing that a process did, and what became of it.
type event struct {
	Round, Caller int
	Op            string
	Levels        []int // of the round, in the order in which they were asked for; own: the caller's
	Costs         []int64
	Out           []core.Outcome
	Of            int       // refund: the number of the take
	Until         time.Time // when the answer was there
	moment
}

// own is the number of the level that a caller has for itself.
const own = -1

func (e *event) buckets() []core.Bucket {
	buckets := make([]core.Bucket, len(e.Levels))
	for i, l := range e.Levels {
		if l == own {
			buckets[i] = ownBucket(e.Round, e.Caller)
		} else {
			buckets[i] = level(e.Round, l)
		}
		buckets[i].Cost = e.Costs[i]
	}
	return buckets
}

// remembered reports whether Redis was not asked.
func (e *event) remembered() bool { return e.Op == "take" && e.Out[0].Source == core.FromCache }

// process is one of them.
type process struct {
	task
	store *redisstore.Store
	clock *sequence

	mu     sync.Mutex
	events []event
}

// runProcess takes part in all rounds and prints what it saw. Half of the processes ask one thing at a time, the others
// have several callers, whose checks meet in one call.
func runProcess(given string) {
	p := &process{clock: newSequence()}
	if err := json.Unmarshal([]byte(given), &p.task); err != nil {
		panic(err)
	}
	client := redis.UniversalClient(redis.NewClient(&redis.Options{Addr: p.Addrs[0]}))
	if p.Cluster {
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: p.Addrs})
	}
	defer client.Close()
	p.store = redisstore.Must(client, redisstore.WithBudget(patient), redisstore.WithDenyCache(p.Age), redisstore.WithPrefix(p.Prefix))
	if err := p.store.Peek(context.Background(), []core.Bucket{bucket("map", core.PerHour(1))}, make([]core.Outcome, 1)); err != nil {
		panic(err)
	}
	p.store.AddHook(p.clock)
	callers := 1
	if p.Process >= processes/2 {
		callers = 4
	}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for round := range p.Times * rounds() {
				begin := p.Begin.Add(time.Duration(round) * roundTime)
				time.Sleep(time.Until(begin))
				c := &caller{process: p, round: round, number: p.Process*10 + i, alone: callers == 1, r: rand.New(rand.NewPCG(p.Seed, uint64(round*1000+p.Process*10+i)))}
				c.run(begin.Add(roundTime * 9 / 10)) // the next is not to be late
			}
		})
	}
	wg.Wait()
	_ = p.store.Close()
	_ = json.NewEncoder(os.Stdout).Encode(p.events)
}

// caller is one client of a process in one round.
type caller struct {
	*process
	round, number int
	alone         bool
	r             *rand.Rand
	paid          []int // takes that can be refunded, by their numbers
}

// run begins with some things in a row, as all callers do at once: on however slow a machine, there are more than the
// levels admit.
func (c *caller) run(end time.Time) {
	for range 6 {
		c.step()
	}
	for time.Now().Before(end) {
		time.Sleep(time.Duration(c.r.Int64N(int64(roundTime / 4))))
		c.step()
	}
}

// step does one thing, and notes it.
func (c *caller) step() {
	e := event{Round: c.round, Caller: c.number}
	mix := mixes[c.round%len(mixes)]
	if e.Op = mix[c.r.IntN(len(mix))]; e.Op == "refund" && len(c.paid) > 0 {
		c.pick(&e)
	} else {
		if e.Op == "refund" {
			e.Op = "take"
		}
		c.ask(&e)
	}
	e.At = time.Now()
	if err := c.do(&e); err != nil {
		panic(err)
	}
	if e.Until = time.Now(); !e.remembered() {
		e.moment = c.clock.at(c.number, c.alone)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	if e.Op == "take" && !slices.ContainsFunc(e.Out, func(o core.Outcome) bool { return !o.Charged }) {
		c.paid = append(c.paid, len(c.events)-1)
	}
}

// ask picks levels, in any order, and costs.
func (c *caller) ask(e *event) {
	all := len(shared[c.round/len(mixes)%len(shared)].levels)
	e.Levels = c.r.Perm(all)[:1+c.r.IntN(all)]
	if !c.alone {
		e.Levels = slices.Insert(e.Levels, c.r.IntN(len(e.Levels)+1), own)
	}
	for _, l := range e.Levels {
		cost := 1 + c.r.Int64N(1+c.r.Int64N(3))
		switch {
		case l == own:
			cost = 1
		case c.r.IntN(20) == 0:
			cost = level(c.round, l).Limit.Capacity() + c.r.Int64N(2)
		}
		e.Costs = append(e.Costs, cost)
	}
}

// pick turns to a take of before, to give back some of each of its charges.
func (c *caller) pick(e *event) {
	i := c.r.IntN(len(c.paid))
	e.Of = c.paid[i]
	c.paid = slices.Delete(c.paid, i, i+1)
	c.mu.Lock()
	of := c.events[e.Of]
	c.mu.Unlock()
	e.Levels, e.Out = of.Levels, of.Out
	for _, cost := range of.Costs {
		e.Costs = append(e.Costs, 1+c.r.Int64N(cost))
	}
}

func (c *caller) do(e *event) error {
	ctx, buckets := context.Background(), e.buckets()
	switch e.Op {
	case "debit":
		return c.store.Debit(ctx, buckets)
	case "reset":
		return c.store.Reset(ctx, buckets)
	case "refund":
		return c.store.Refund(ctx, buckets, e.Out)
	}
	e.Out = make([]core.Outcome, len(buckets))
	if e.Op == "peek" {
		return c.store.Peek(ctx, buckets, e.Out)
	}
	return c.store.Take(ctx, buckets, e.Out)
}

// start starts the processes. The function that it returns waits for what they saw.
func start(t *testing.T, o task) func(*testing.T) [][]event {
	t.Helper()
	tasks := slices.Repeat([]task{o}, processes)
	for i := range tasks {
		tasks[i].Process = i
	}
	return selfexec.Start[[]event](t, processEnv, tasks)
}
