package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// neighbours are asked together with a bucket whose key holds something else, before and after it.
func neighbours(name string) (before, after core.Bucket) {
	return bucket("before "+name, core.PerHour(1000).With(core.SlidingLog)), bucket("after "+name, core.PerHour(1000))
}

// What was not written here counts as never used, and a charge puts a state in its place.
func TestForeignValueIsReplacedByEveryAlgorithm(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	commands := map[string][]any{
		"length of a log":  {"SET", "", strings.Repeat("a", 21)},
		"zeros":            {"SET", "", strings.Repeat("\x00", 35)},
		"numbers too many": {"SET", "", "1 2 3 4"},
		"huge numbers":     {"SET", "", "1790000000000000 9999999999999999 9999999999999999"},
		"huge count":       {"SET", "", "1790000000000000 9999999999999999"},
		"huger numbers":    {"SET", "", strings.Repeat("9", 40) + " " + strings.Repeat("9", 40)},
		"spaces":           {"SET", "", " 1 "},
	}
	maps.Copy(commands, foreign)
	for name, l := range algorithms {
		before, after := neighbours(name)
		n := int64(1000)
		for what, command := range commands {
			if what == "too few digits" && l.Step() > 0 {
				continue // that long ago it was empty
			}
			at := bucket(name+what, l)
			put(t, server, command, stored(at))
			was := server.Do(t, "DUMP", stored(at))
			if o := peek(t, s, at); o.Remaining != l.Start() || server.Do(t, "DUMP", stored(at)) != was {
				t.Errorf("%s: %s: a peek says %+v, or changed it", name, what, o)
			}
			out := take(t, s, before, at, after)
			if n--; !out[1].Charged || out[1].Remaining != l.Start()-1 || out[0].Remaining != n || out[2].Remaining != n {
				t.Errorf("%s: %s: %+v, want %d left beside", name, what, out, n)
			}
			if ttl := server.Do(t, "PTTL", stored(at)).(int64); ttl <= 0 || server.Do(t, "TYPE", stored(at)) != "string" {
				t.Errorf("%s: %s: it lives %d ms", name, what, ttl)
			}
		}
	}
}

// Whatever stands at a key, no call fails for it, nobody is told nonsense, and nobody is locked out for
// longer than it takes to fill.
func TestGarbageBreaksNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now), redisstore.WithDenyCache(0))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	n := map[string]int64{}
	for range 100 {
		for name, l := range algorithms {
			before, after := neighbours(name)
			at, raw := bucket(name, l), garbage(r, uint64(clock.Now().UnixMicro()))
			server.Do(t, "SET", stored(at), raw)
			for _, op := range []func() error{
				func() error { return nil },
				func() error {
					return s.Refund(ctx, []core.Bucket{at}, []core.Outcome{{Charged: true, Receipt: core.Receipt{r.Int64N(2e15), 0}}})
				},
				func() error { return s.Debit(ctx, []core.Bucket{at}) },
			} {
				if err := op(); err != nil {
					t.Fatalf("%s: %q: %v", name, raw, err)
				}
				out := take(t, s, before, at, after)
				if out[1].Charged {
					n[name]++
				}
				full := 2 * l.Period
				if l.Calendar() != core.NoCalendar {
					full = 31 * 24 * time.Hour
				}
				if o := out[1]; o.Remaining < 0 || o.Remaining > 5 || o.RetryAfter < 0 || o.RetryAfter > full || o.ResetAfter < 0 || o.ResetAfter > full {
					t.Errorf("%s: %q: %+v", name, raw, o)
				}
				if out[0].Remaining != 1000-n[name] || out[2].Remaining != 1000-n[name] {
					t.Errorf("%s: %q: %+v beside it, want %d left", name, raw, out, 1000-n[name])
				}
			}
			reset(t, s, before, after)
			n[name] = 0
		}
	}
}

// garbage is numbers, bytes, or a log whose numbers are in no order.
func garbage(r *rand.Rand, now uint64) string {
	var raw []byte
	switch r.IntN(3) {
	case 0:
		for range 1 + r.IntN(4) {
			raw = fmt.Appendf(raw, "%d ", r.Uint64()>>r.IntN(64))
		}
		return string(raw[:len(raw)-r.IntN(2)])
	case 1:
		for range 7 + 14*r.IntN(5) {
			raw = append(raw, byte(r.IntN(256)))
		}
		return string(raw)
	}
	raw = seven(nil, r.Uint64N(10))
	for range 1 + r.IntN(6) {
		raw = seven(seven(raw, now+r.Uint64N(1e10)-5e9), r.Uint64N(1<<r.IntN(50)))
	}
	return string(raw)
}
