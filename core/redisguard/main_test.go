package redisguard

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis tells of each dial that these tests make fail
	goleak.VerifyTestMain(m, redistest.ClientLeftovers()...)
}

var quiet = WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))

// open makes a guard that is closed before its client is.
func open(t testing.TB, client Client, opts ...Option) *Guard {
	t.Helper()
	g, err := New(client, append([]Option{quiet}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// still makes a guard that exchanges only when its test says so.
func still(t testing.TB, client Client, now func() time.Time, opts ...Option) *Guard {
	t.Helper()
	c, err := configure(client, append([]Option{quiet}, opts...))
	if err != nil {
		t.Fatal(err)
	}
	c.now = now
	return build(c)
}

func meet(t testing.TB, guards ...*Guard) {
	t.Helper()
	for _, g := range guards {
		if err := g.meet(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func verdict(g *Guard, key string, cost int64) core.Verdict {
	v, _ := g.Admit(key, cost)
	return v
}

func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// clock stands still until a test moves it.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// ahead is the same clock in a replica whose own is ahead.
func (c *clock) ahead(d time.Duration) func() time.Time {
	return func() time.Time { return c.at.Add(d) }
}

func connect(t testing.TB, addr string, opt redis.Options) *redis.Client {
	t.Helper()
	opt.Addr = addr
	client := redis.NewClient(&opt)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
