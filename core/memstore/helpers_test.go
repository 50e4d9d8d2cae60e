package memstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands still until a test moves it.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1767225600, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

func open(t testing.TB, opts ...memstore.Option) *memstore.Store {
	t.Helper()
	s := memstore.New(opts...)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func frozen(t testing.TB, opts ...memstore.Option) (*memstore.Store, *clock) {
	t.Helper()
	c := &clock{}
	return open(t, append(opts, memstore.WithClock(c.now))...), c
}

func bucket(key string, l core.Limit, cost int64) core.Bucket {
	return core.Bucket{Key: key, Limit: l, Cost: cost, Level: "user"}
}

func take(t testing.TB, s core.Store, buckets ...core.Bucket) []core.Outcome {
	t.Helper()
	out := make([]core.Outcome, len(buckets))
	if err := s.Take(context.Background(), buckets, out); err != nil {
		t.Fatalf("Take: %v", err)
	}
	return out
}

func peek(t testing.TB, s core.Store, b core.Bucket) core.Outcome {
	t.Helper()
	out := make([]core.Outcome, 1)
	if err := s.Peek(context.Background(), []core.Bucket{b}, out); err != nil {
		t.Fatalf("Peek: %v", err)
	}
	return out[0]
}
