package redisstore_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

var replays = flag.Int("replays", 1, "how often the processes of TestProcessesAgreeWithTheModel go through all cases")

const (
	processes = 4
	// roundTime is how long all processes ask about the same keys. The model goes through all that has happened
	// to a key for each answer, so a key has some hundred.
	roundTime = 100 * time.Millisecond
)

// shared are the levels of a request whose buckets all processes have in common. What a level admits comes
// back within a round, but for the calendar's.
var shared = []struct {
	name   string
	levels []core.Limit
	shadow int // which level is in shadow; -1: none
}{
	{"token bucket", []core.Limit{core.PerSecond(400).WithBurst(10)}, -1},
	{"token bucket whose unit is no whole nanosecond", []core.Limit{core.Per(7, 11*time.Millisecond)}, -1},
	{"leaky bucket", []core.Limit{core.PerSecond(400).WithBurst(8).With(core.LeakyBucket)}, -1},
	{"start", []core.Limit{core.PerSecond(400).WithBurst(10).WithStart(3)}, -1},
	{"steps", []core.Limit{core.Per(6, 15*time.Millisecond).WithStep(6).WithBurst(10)}, -1},
	{"steps and start", []core.Limit{core.Per(6, 15*time.Millisecond).WithStep(6).WithBurst(10).WithStart(2)}, -1},
	{"fixed window", []core.Limit{core.Per(8, 20*time.Millisecond).With(core.FixedWindow)}, -1},
	{"fixed window with offset", []core.Limit{core.Per(8, 20*time.Millisecond).With(core.FixedWindow).WithOffset(7 * time.Millisecond)}, -1},
	{"calendar", []core.Limit{core.PerCalendar(30, core.Daily, nil)}, -1},
	{"sliding window", []core.Limit{core.Per(10, 25*time.Millisecond).With(core.SlidingWindow)}, -1},
	{"sliding log", []core.Limit{core.Per(10, 25*time.Millisecond).With(core.SlidingLog)}, -1},
	{"two token buckets", []core.Limit{core.PerSecond(500).WithBurst(8), core.PerSecond(400).WithBurst(12)}, -1},
	{"three algorithms", []core.Limit{
		core.PerSecond(500).WithBurst(8), core.Per(12, 20*time.Millisecond).With(core.SlidingLog), core.Per(10, 20*time.Millisecond).With(core.FixedWindow),
	}, -1},
	{"one in shadow", []core.Limit{
		core.PerSecond(500).WithBurst(8), core.Per(6, 20*time.Millisecond).With(core.SlidingWindow), core.PerSecond(600).WithBurst(6).With(core.LeakyBucket),
	}, 1},
}

// mixes are what the processes do beside taking. Each case goes through all of them, on keys of its own: what
// is refunded has to have been charged, so that is not mixed with resets.
var mixes = [][]string{
	{"take", "take", "take", "take", "take", "take", "peek", "debit"},
	{"take", "take", "take", "take", "refund", "refund", "peek", "debit"},
	{"take", "take", "take", "take", "take", "take", "peek", "reset"},
}

// givesBack tells of the rounds in which a bucket may hold more than time has given it.
func givesBack(round int) bool { return round%len(mixes) > 0 }

// rounds is how many there are each time.
func rounds() int { return len(shared) * len(mixes) }

// level is a bucket of a round.
func level(round, i int) core.Bucket {
	c := &shared[round/len(mixes)%len(shared)]
	b := bucket("", c.levels[i])
	b.Key, b.Level, b.Shadow = inOneSlot(fmt.Sprintf("1t:replay::%d:%d:", round, i)), c.name, i == c.shadow
	return b
}

// inOneSlot ends a key so that a Cluster has it in the same slot as all others: what lies there is decided in
// one step, as by one server.
func inOneSlot(key string) string {
	if k, ok := slotted.Load(key); ok {
		return k.(string)
	}
	for i := 0; ; i++ {
		if k := key + fmt.Sprint(i); redisstore.TagOf(k) == 7 {
			slotted.Store(key, k)
			return k
		}
	}
}

var slotted sync.Map // what inOneSlot has found

// Several processes, some of which send many checks in one call, ask about the same keys at once, by the
// server's own clock. Told in the order of that clock, all they were answered is what the slow model says. With
// the memory for denials, nothing is admitted beside that, and what is refused from it the model refuses, too.
func TestProcessesAgreeWithTheModel(t *testing.T) {
	server := redistest.Start(t)
	for name, age := range denyCaches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			launch(t, task{Addrs: []string{server.Addr()}, Prefix: fmt.Sprint("age", int(age)), Age: age})(t)
		})
	}
}

var denyCaches = map[string]time.Duration{"deny cache off": 0, "deny cache on": time.Second}

func processesOverCluster(t *testing.T, cluster *redistest.Cluster) {
	said := map[string]func(*testing.T){}
	for name, age := range denyCaches {
		said[name] = launch(t, task{Addrs: cluster.Addrs(), Cluster: true, Prefix: fmt.Sprint("age", int(age)), Age: age})
	}
	for name, judge := range said {
		t.Run(name, judge)
	}
}

// launch starts the processes. The function that it returns waits for what they saw and judges it.
func launch(t *testing.T, o task) func(*testing.T) {
	t.Helper()
	o.Seed, o.Times = rand.Uint64(), *replays
	o.Begin = time.Now().Add(time.Second)
	wait := start(t, o)
	return func(t *testing.T) {
		t.Helper()
		r := newReplay(t, o.Age > 0)
		for process, events := range wait(t) {
			for i := range events {
				r.add(process, i, &events[i])
			}
		}
		r.run()
	}
}
