package redisstore_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// algorithms are limits of each state that the scripts keep, of a capacity of 5.
var algorithms = map[string]core.Limit{
	"token bucket":   core.PerHour(5),
	"leaky bucket":   core.PerHour(5).With(core.LeakyBucket),
	"start":          core.PerHour(5).WithStart(4),
	"steps":          core.PerHour(5).WithStep(5),
	"steps, start":   core.PerHour(5).WithStep(5).WithStart(4),
	"fixed window":   core.PerHour(5).With(core.FixedWindow),
	"calendar":       core.PerCalendar(5, core.Monthly, nil),
	"sliding window": core.PerHour(5).With(core.SlidingWindow),
	"sliding log":    core.PerHour(5).With(core.SlidingLog),
}

// states is what is stored at keys and until when.
func states(t *testing.T, server *redistest.Server, buckets ...core.Bucket) (text string) {
	t.Helper()
	for _, b := range buckets {
		text += fmt.Sprintf("%q %v\n", server.Do(t, "DUMP", stored(b)), server.Do(t, "PEXPIRETIME", stored(b)))
	}
	return text
}

func TestDenialLeavesTheStateOfEveryAlgorithmUntouched(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now), redisstore.WithDenyCache(0))
	none := bucket("none", core.PerHour(1))
	take(t, s, none)
	for name, l := range algorithms {
		some, all := bucket("some "+name, l), bucket("all "+name, l)
		take(t, s, costing(some, 2))
		take(t, s, costing(some, 1))
		take(t, s, costing(all, l.Start()))
		clock.Advance(time.Minute)
		before := states(t, server, some, all, none)
		time.Sleep(3 * time.Millisecond)
		for _, request := range [][]core.Bucket{{all}, {some, all}, {all, some}, {some, none}, {costing(some, 5)}, {costing(some, 6)}, {some, costing(bucket("fresh "+name, core.PerHour(1)), 2)}} {
			for _, o := range take(t, s, request...) {
				if o.Charged {
					t.Fatalf("%s: charged: %+v", name, o)
				}
			}
			peek(t, s, request[0])
		}
		if after := states(t, server, some, all, none); after != before {
			t.Errorf("%s: denials made\n%sof\n%s", name, after, before)
		}
	}
}

// A log counts on from a total that grows for as long as its key lives: before a double cannot hold
// it any more it begins anew, and forgets nothing.
func TestLogCountsOnPastWhatADoubleHolds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	b := bucket("b", algorithms["sliding log"])
	now, base := uint64(clock.Now().UnixMicro()), uint64(1)<<52+7
	raw := seven(nil, base)
	raw = seven(seven(raw, now-2_000_000), base+1)
	raw = seven(seven(raw, now-1_000_000), base+3)
	server.Do(t, "SET", stored(b), raw)
	if o := take(t, s, b)[0]; !o.Charged || o.Remaining != 1 || o.ResetAfter != time.Hour-2*time.Second {
		t.Errorf("%+v, want 1 left", o)
	}
	after := server.Do(t, "GET", stored(b)).(string)
	if want := seven(seven(seven(seven(seven(seven(seven(nil, 0), now-2_000_000), 1), now-1_000_000), 3), now), 4); after != string(want) {
		t.Errorf("the log is %x, want %x", after, want)
	}
}

// Of a log that was not written here, an instant that lies ahead may be in the middle, where nobody looks.
func TestLogInDisorderLocksNobodyOut(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	b := bucket("b", algorithms["sliding log"])
	now, raw := uint64(clock.Now().UnixMicro()), seven(nil, 0)
	for _, e := range [][2]uint64{{now - 5e6, 1}, {now + 4e9, 7}, {now - 2e6, 8}, {now - 1e6, 9}} {
		raw = seven(seven(raw, e[0]), e[1])
	}
	server.Do(t, "SET", stored(b), raw)
	if o := take(t, s, b)[0]; o.Admits || o.RetryAfter > time.Hour || o.ResetAfter > time.Hour {
		t.Errorf("%+v, want a wait of at most an hour", o)
	}
}

// seven appends a number in seven bytes.
func seven(raw []byte, n uint64) []byte {
	return append(raw, binary.BigEndian.AppendUint64(nil, n)[1:]...)
}
