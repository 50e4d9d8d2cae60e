package redisguard

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/countmin"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Three replicas whose clocks differ by as much as they may: once all have exchanged, who would pass
// anywhere has asked all of them together for less than the threshold within the window, but for
// what was counted in a slice that the replica's own clock has not reached.
func TestExchangedEstimatesAreNeverBelowTheTruth(t *testing.T) {
	t.Parallel()
	const threshold = 12
	for _, size := range []struct {
		name    string
		epsilon float64
		exact   bool
	}{{"tiny", 0.1, false}, {"large", 1e-3, true}} {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			c := &clock{time.Unix(1767225600, 0)}
			opts := []Option{WithError(size.epsilon, 0.1), WithThreshold(threshold), WithWindow(10 * time.Second), WithClockSkew(time.Second)}
			var guards []*Guard
			for i := range 3 {
				guards = append(guards, still(t, server.Client(t), c.ahead(time.Duration(i)*500*time.Millisecond), opts...))
			}
			memory := guards[0].Bounds().Memory
			type asked struct {
				at    time.Time
				units int64
				slice int64
			}
			all := map[string][]asked{}
			ask := func(g *Guard, key string, units int64) {
				g.Admit(key, units)
				all[key] = append(all[key], asked{c.at, units, g.current.Load().cur.index})
			}
			within := func(key string, d time.Duration, slice int64) (n int64) {
				for _, a := range all[key] {
					if c.at.Sub(a.at) <= d && a.slice <= slice {
						n += a.units
					}
				}
				return n
			}
			random, passed, checked := rand.New(rand.NewPCG(1, 2)), 0, 0
			for range 1500 {
				step := 300 * time.Millisecond
				if random.IntN(50) == 0 {
					step = 25 * time.Second
				}
				c.at = c.at.Add(time.Duration(random.Int64N(int64(step))))
				for _, g := range guards {
					g.turn(g.now())
				}
				key, g := fmt.Sprint(int(random.ExpFloat64()*8)), guards[random.IntN(3)]
				for range random.IntN(4) {
					ask(guards[random.IntN(3)], key, 1+random.Int64N(3))
				}
				meet(t, guards...)
				ask(g, key, 1)
				meet(t, g)
				slice := g.current.Load().cur.index
				switch v, _ := g.Peek(key, 1); v {
				case core.PassKey:
					passed++
					if n := within(key, 10*time.Second, slice); n+1 >= threshold {
						t.Fatalf("would pass with %d units asked for", n)
					}
				case core.CheckKey:
					checked++
					if n := within(key, memory, slice+1); size.exact && n+1 < threshold {
						t.Fatalf("would be checked with %d units asked for in all that is remembered", n)
					}
				default:
					t.Fatalf("verdict %d", v)
				}
			}
			if checked == 0 || size.exact && passed == 0 {
				t.Errorf("%d passed, %d checked", passed, checked)
			}
		})
	}
}

// The first exchange of a replica that has slept tells it what the others counted in the slice before.
func TestTheSliceBeforeIsLearntToo(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(1767225600, 0)}
	opts := []Option{WithThreshold(10), WithWindow(time.Minute), WithClockSkew(0)}
	a, b := still(t, server.Client(t), c.now, opts...), still(t, server.Client(t), c.now, opts...)
	a.Admit("key", 9)
	meet(t, a)
	for _, d := range []time.Duration{time.Minute, 0} {
		c.at = c.at.Add(d)
		b.turn(c.at)
		b.Admit("key", 1)
		meet(t, b)
		if v, _ := b.Peek("key", 1); v != core.CheckKey {
			t.Errorf("verdict %d, want a check of 9 units in the slice before and 1 since", v)
		}
	}
}

// A slice is longer than the window by what clocks may differ: what a replica has counted at the very
// end of one is known for a window to another whose clock was in the next already.
func TestClocksMayDiffer(t *testing.T) {
	t.Parallel()
	const window, skew = 10 * time.Second, time.Second
	server, c := redistest.Start(t), &clock{time.Unix(0, 0).Add(1000*(window+skew) - 1)}
	opts := []Option{WithThreshold(10), WithWindow(window), WithClockSkew(skew)}
	behind, ahead := still(t, server.Client(t), c.now, opts...), still(t, server.Client(t), c.ahead(skew), opts...)
	behind.Admit("key", 9)
	meet(t, behind)
	c.at = c.at.Add(window)
	ahead.turn(ahead.now())
	ahead.Admit("key", 1)
	meet(t, ahead)
	if v, _ := ahead.Peek("key", 1); v != core.CheckKey {
		t.Errorf("verdict %d", v)
	}
}

// What a replica has not sent when a slice ends is sent afterwards, and until the next slice has
// begun nobody passes.
func TestASliceEnds(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(0, 0).Add(1000*time.Minute - 1)}
	opts := []Option{WithThreshold(10), WithWindow(time.Minute), WithClockSkew(0)}
	a, b := still(t, server.Client(t), c.now, opts...), still(t, server.Client(t), c.now, opts...)
	meet(t, a, b)
	a.Admit("key", 9)
	held, p := a.current.Load(), countmin.Places{}
	a.shape.Place(a.hash("held"), &p)
	c.at = c.at.Add(time.Millisecond)
	if v := verdict(a, "other", 1); v != core.CheckKey {
		t.Errorf("verdict %d behind the end of the slice", v)
	}
	meet(t, a)
	if v := verdict(a, "other", 1); v != core.PassKey {
		t.Errorf("verdict %d in the next slice", v)
	}
	meet(t, b)
	b.Admit("key", 1)
	meet(t, b)
	if v, _ := b.Peek("key", 1); v != core.CheckKey {
		t.Errorf("verdict %d: what was not sent in time is lost", v)
	}
	// A request that was held up meanwhile is counted where it will be seen.
	if _, ok := a.count(held, &p, a.hash("held"), 9); ok {
		t.Error("goes by the slice that has ended")
	}
	c.at = c.at.Add(time.Minute)
	meet(t, a)
	if v := verdict(a, "held", 1); v != core.CheckKey {
		t.Errorf("verdict %d: what was counted in the slice that had ended is lost", v)
	}
}

// A counter in Redis stops where it is full.
func TestCountersStopWhereTheyAreFull(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(1767225600, 0)}
	opts := []Option{WithThreshold(1<<32 - 1), WithWindow(time.Hour)}
	a, b := still(t, server.Client(t), c.now, opts...), still(t, server.Client(t), c.now, opts...)
	a.Admit("key", 1<<32-10)
	meet(t, a, b)
	if v := verdict(b, "other", 1); v != core.PassKey {
		t.Errorf("verdict %d", v)
	}
	b.Admit("key", 1<<32-10)
	meet(t, b, a)
	fresh := still(t, server.Client(t), c.now, opts...)
	for _, g := range []*Guard{a, b, fresh} {
		g.Admit("key", 1)
		meet(t, g)
		if v, _ := g.Peek("key", 1); v != core.CheckKey {
			t.Errorf("verdict %d", v)
		}
	}
}

// Redis that comes back empty does not make a replica forget what it has counted itself.
func TestRedisForgets(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(1767225600, 0)}
	g := still(t, server.Client(t), c.now, WithThreshold(10))
	g.Admit("key", 5)
	meet(t, g)
	server.Do(t, "FLUSHALL")
	g.Admit("key", 5)
	meet(t, g)
	if v, _ := g.Peek("key", 1); v != core.CheckKey {
		t.Errorf("verdict %d", v)
	}
	if ttl := server.Do(t, "PTTL", g.name(g.current.Load().cur.index)); ttl.(int64) <= 0 {
		t.Errorf("the slice made anew lives for %v", ttl)
	}
}
