package fallback_test

import (
	"context"
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

var floodKeys = flag.Int("flood", 150_000, "distinct keys of TestFlood; docs/failure.md has 10 million")

const (
	// mostOwing is how many buckets are charged after an outage.
	mostOwing = 1 << 16
	// mostBeside is what a replica may hold beside its local buckets, in bytes: those that are to be charged,
	// and what the warm start and the store's cache of refusals remember.
	mostBeside = 24 << 20
	// mostKnown is what the warm start may.
	mostKnown = 2 << 20
)

// roomFor is a ninth of so many keys, in whole shards, and no more than there is by default.
func roomFor(keys int) int { return min(1<<20, keys/9&^255) }

// heldHeap is what is in use when the garbage is gone, that of sync.Pools too.
func heldHeap() int64 {
	heapInUse()
	return int64(heapInUse())
}

// swarm sends a request of each of the keys from up to to, which nobody has seen before.
func swarm(t *testing.T, s core.Store, strict bool, from, to int) (local, admitted int) {
	t.Helper()
	b, out := []core.Bucket{{Limit: core.PerDay(5), Cost: 1, Level: "user", Strict: strict}}, make([]core.Outcome, 1)
	for i := from; i < to; i++ {
		b[0].Key = "1t:flood::user:86400s:#" + strconv.Itoa(1e15+i)
		if err := s.Take(context.Background(), b, out); err != nil {
			t.Fatal(err)
		}
		if out[0].Source == core.FromLocal {
			local++
		}
		if out[0].Charged {
			admitted++
		}
	}
	return local, admitted
}

// A flood of keys that are seen once, while Redis is dead: the local half and what is to be charged
// afterwards are bounded, and the latter is gone when it has been charged.
func TestFloodInAnOutage(t *testing.T) {
	room := roomFor(*floodKeys)
	server := redistest.Start(t)
	client := redis.NewClient(clients["default"](server.Addr()))
	before := heldHeap()
	s := wrap(t, redisstore.Must(client), fallback.WithLocalEntries(room), fallback.WithReplicas(1))
	t.Cleanup(func() { _ = client.Close() })
	take(t, s, fixed("first"))
	server.Kill()
	eventually(t, "breaker open", 5*time.Second, func() bool {
		take(t, s, fixed("second"))
		return s.Health().Degraded
	})
	_, admitted := swarm(t, s, false, 0, 4*room)
	full := heldHeap() - before
	local, late := swarm(t, s, false, 4*room, *floodKeys)
	after := heldHeap() - before
	if local != *floodKeys-4*room {
		t.Errorf("%d of %d keys were decided locally", local, *floodKeys-4*room)
	}
	if admitted < room*9/10 || admitted+late > room+5 {
		t.Errorf("%d keys admitted, want one in each of %d buckets, and the 5 of the one that the others share", admitted+late, room)
	}
	server.Restart()
	eventually(t, "all is charged, but for what was shared", 30*time.Second, func() bool {
		h := s.Health()
		return !h.Degraded && h.Settled >= uint64(min(admitted+late-5, mostOwing-1))
	})
	var back int64
	eventually(t, "what has been charged is forgotten", 10*time.Second, func() bool {
		back = heldHeap() - before
		return back < after-128*mostOwing
	})
	h := s.Health()
	t.Logf("%d keys, room for %d: the heap had %d bytes more at the cap, %d after all and %d when Redis was back; %d buckets settled, %d not",
		*floodKeys, room, full, after, back, h.Settled, h.Unsettled)
	if most := int64(48*room + mostBeside); after > most || after > full+full/50 {
		t.Errorf("the heap has grown by %d and then by %d bytes, want at most %d, and no more after the cap", full, after, most)
	}
}

func fixed(key string) core.Bucket {
	return core.Bucket{Key: key, Limit: core.PerHour(1000), Cost: 1, Level: key}
}

// admitting is a shared store that says of every bucket that it holds one unit less.
type admitting struct{ *memstore.Store }

func (admitting) Traits() core.Traits { return core.Traits{} }

func (admitting) Refund(context.Context, []core.Bucket, []core.Outcome) error { return nil }

func (admitting) Take(_ context.Context, b []core.Bucket, out []core.Outcome) error {
	for i := range b {
		out[i] = core.Outcome{Admits: true, Charged: true, Source: core.FromShared, Remaining: b[i].Limit.Capacity() - 1}
	}
	return nil
}

// The same flood while the shared store is well: what the warm start remembers of it is bounded, and so are the
// buckets of a strict level, which are held in process too. Those without room are left to the shared store.
func TestFloodOfWhatIsRemembered(t *testing.T) {
	room := roomFor(*floodKeys)
	for name, c := range map[string]struct {
		strict    bool
		admitted  int
		mostBytes int64
	}{"loose": {false, *floodKeys, mostKnown}, "strict": {true, *floodKeys, mostKnown + int64(48*room)}} {
		s := wrap(t, admitting{memstore.New()}, fallback.WithLocalEntries(room))
		before := heldHeap()
		_, admitted := swarm(t, s, c.strict, 0, *floodKeys)
		after := heldHeap() - before
		t.Logf("%s: %d keys, room for %d: the heap has %d bytes more; %d admitted", name, *floodKeys, room, after, admitted)
		if admitted != c.admitted || after > c.mostBytes {
			t.Errorf("%s: want %d admitted, and %d bytes at most", name, c.admitted, c.mostBytes)
		}
		if h := s.Health(); h.Failures.Store != 0 {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
