package redisstore_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

var digits = regexp.MustCompile(`^[0-9]+$`)

// foreign is what this version never writes at a key, by the command that puts it there.
var foreign = map[string][]any{
	"list":                     {"RPUSH", "", "a", "b"},
	"hash":                     {"HSET", "", "t", "1", "ts", "2"},
	"set":                      {"SADD", "", "a"},
	"sorted set":               {"ZADD", "", "1", "a"},
	"stream":                   {"XADD", "", "*", "a", "b"},
	"word":                     {"SET", "", "abc"},
	"exponent":                 {"SET", "", "1e30"},
	"negative":                 {"SET", "", "-5"},
	"long negative":            {"SET", "", "-1790000000000000000"},
	"nan":                      {"SET", "", "nan"},
	"inf":                      {"SET", "", "inf"},
	"empty":                    {"SET", "", ""},
	"fraction":                 {"SET", "", "1790000000000000000.5"},
	"space":                    {"SET", "", " 1790000000000000000"},
	"line feed":                {"SET", "", "1790000000000000000\n"},
	"hexadecimal":              {"SET", "", "0x1790000000000000000"},
	"too few digits":           {"SET", "", "999999999"},
	"too many digits":          {"SET", "", strings.Repeat("9", 26)},
	"a million digits":         {"SET", "", strings.Repeat("9", 1_000_000)},
	"bytes":                    {"SET", "", "\x00\xff\r\n12345678"},
	"digits of another script": {"SET", "", "１７９００００００００"},
}

func put(t *testing.T, server *redistest.Server, command []any, key string) {
	t.Helper()
	args := append([]any(nil), command...)
	args[1] = key
	server.Do(t, args...)
}

// A foreign value counts as a full bucket, and the first charge puts an instant in its place.
func TestForeignValueIsAFullBucketAndIsReplaced(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	for name, command := range foreign {
		t.Run(name, func(t *testing.T) {
			server.Do(t, "FLUSHALL")
			before, at, after := bucket("before", core.PerHour(5)), bucket("at", core.PerHour(5)), bucket("after", core.PerHour(5))
			take(t, s, before, after)
			put(t, server, command, stored(at))
			was := server.Do(t, "DUMP", stored(at))
			if o := peek(t, s, at); !o.Admits || o.Remaining != 5 || o.ResetAfter != 0 {
				t.Errorf("peek: %+v, want a full bucket", o)
			}
			if server.Do(t, "DUMP", stored(at)) != was {
				t.Error("a peek changed the value")
			}
			for left := int64(4); left >= 3; left-- {
				out := take(t, s, before, at, after)
				if !out[1].Charged || out[1].Remaining != left {
					t.Errorf("with %d left after it: %+v", left, out[1])
				}
				if out[0].Remaining != left-1 || out[2].Remaining != left-1 {
					t.Errorf("its neighbours have %d and %d left, want %d", out[0].Remaining, out[2].Remaining, left-1)
				}
			}
			if kind := server.Do(t, "TYPE", stored(at)); kind != "string" {
				t.Fatalf("the key is a %v, want it replaced by a string", kind)
			}
			if v := server.Do(t, "GET", stored(at)).(string); !digits.MatchString(v) || server.Do(t, "PTTL", stored(at)).(int64) <= 0 {
				t.Errorf("the key holds %q and lives %v ms, want an instant that expires", v, server.Do(t, "PTTL", stored(at)))
			}
		})
	}
}

func TestForeignValueUnderTheOtherOperations(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	ctx := context.Background()
	b := []core.Bucket{bucket("b", core.PerHour(5))}
	charged := take(t, s, b...)
	for name, command := range foreign {
		for op, c := range map[string]struct {
			run  func() error
			left int64
		}{
			"debit":  {func() error { return s.Debit(ctx, b) }, 4},
			"refund": {func() error { return s.Refund(ctx, b, charged) }, 5},
			"reset":  {func() error { return s.Reset(ctx, b) }, 5},
		} {
			server.Do(t, "DEL", stored(b[0]))
			put(t, server, command, stored(b[0]))
			if err := c.run(); err != nil {
				t.Errorf("%s: %s: %v", name, op, err)
			}
			if o := peek(t, s, b[0]); o.Remaining != c.left {
				t.Errorf("%s: %d left after %s, want %d", name, o.Remaining, op, c.left)
			}
			if exists := server.Do(t, "EXISTS", stored(b[0])); exists != 5-c.left {
				t.Errorf("%s: after %s the key exists: %v", name, op, exists)
			}
		}
	}
}

// An instant that lies beyond the time to full was left by a clock that has stepped back. It is
// written anew at once, also by a denial, so nobody waits longer than the time to full.
func TestInstantFarAheadHealsWithinTheTimeToFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	for name, ahead := range map[string]string{
		"an hour": text(clock.Now().Add(time.Hour)), "a nanosecond too far": text(clock.Now().Add(time.Second + 1)),
		"as many digits as are read": strings.Repeat("9", 25),
	} {
		b, other := bucket("b"+name, core.PerSecond(10)), bucket("other"+name, core.PerSecond(10))
		server.Do(t, "SET", stored(b), ahead)
		out := take(t, s, b, other)
		if out[0].Admits || out[0].RetryAfter != 100*time.Millisecond || out[0].Remaining != 0 {
			t.Errorf("%s: %+v, want an empty bucket", name, out[0])
		}
		if !out[1].Admits || out[1].Charged || out[1].Remaining != 10 {
			t.Errorf("%s: the other bucket: %+v", name, out[1])
		}
		if got, want := server.Do(t, "GET", stored(b)), text(clock.Now().Add(time.Second)); got != want {
			t.Errorf("%s: the key holds %v, want %v: now and the time to full", name, got, want)
		}
		if ttl := server.Do(t, "PTTL", stored(b)).(int64); ttl <= 0 || ttl > 3000 {
			t.Errorf("%s: the key lives %d ms, want at most 2 x the time to full + 1 s", name, ttl)
		}
	}
	clock.Advance(time.Second)
	if o := peek(t, s, bucket("ban hour", core.PerSecond(10))); o.Remaining != 10 {
		t.Errorf("%d left after the time to full, want 10", o.Remaining)
	}
}

func TestInstantExactlyAtTheTimeToFullIsLeftAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	b := bucket("b", core.PerSecond(10))
	server.Do(t, "SET", stored(b), text(clock.Now().Add(time.Second)), "PX", 1500)
	expires := server.Do(t, "PEXPIRETIME", stored(b))
	if o := take(t, s, b)[0]; o.Admits || o.RetryAfter != 100*time.Millisecond {
		t.Errorf("%+v, want a denial", o)
	}
	if server.Do(t, "PEXPIRETIME", stored(b)) != expires {
		t.Error("the denial moved the expiry")
	}
}

// One caller's broken key is in the same script call as everybody else's.
func TestForeignValueChangesNoOtherCheckOfTheBatch(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := &gate{Client: server.Client(t)}
	s := open(t, g, redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
	shared := bucket("shared", core.PerHour(1000))
	var kinds [][]any
	for _, command := range foreign {
		kinds = append(kinds, command)
	}
	own := func(i int) core.Bucket { return bucket("own"+string(rune('A'+i)), core.PerHour(5)) }
	for i := range kinds {
		put(t, server, kinds[i], stored(own(2*i)))
	}
	outs := make([][]core.Outcome, 2*len(kinds))
	gather(t, s, g, len(outs), func(i int) { outs[i] = take(t, s, own(i), shared) })
	for i, out := range outs {
		if !out[0].Charged || out[0].Remaining != 4 || out[1].Remaining != int64(999-i) {
			t.Errorf("check %d (foreign: %v): %+v", i, i%2 == 0, out)
		}
	}
}

func text(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
