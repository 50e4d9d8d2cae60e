package memstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// TestBytesOfAKey measures what docs/algorithms.md says of memory in process: with -v it prints that.
func TestBytesOfAKey(t *testing.T) {
	const keys = 20_000
	limit := core.PerHour(1000)
	for _, c := range []struct {
		name   string
		limit  core.Limit
		spent  int
		atMost float64
	}{
		{"token bucket", limit, 1, 64},
		{"leaky bucket", limit.With(core.LeakyBucket), 1, 64},
		{"token bucket, WithStart(500)", limit.WithStart(500), 1, 400},
		{"token bucket, WithStep(100)", limit.WithStep(100), 1, 400},
		{"fixed window", limit.With(core.FixedWindow), 1, 400},
		{"sliding window", limit.With(core.SlidingWindow), 1, 400},
		{"sliding log, 1 entry", limit.With(core.SlidingLog), 1, 500},
		{"sliding log, 5 entries", limit.With(core.SlidingLog), 5, 700},
		{"sliding log, 100 entries", limit.With(core.SlidingLog), 100, 5000},
	} {
		before := heap()
		s, clock := frozen(t, memstore.WithMaxEntries(1<<24))
		n := keys
		if c.spent > 10 {
			n = keys / 10
		}
		for range c.spent {
			for i := range n {
				take(t, s, bucket("user:"+strconv.Itoa(i), c.limit, 1))
			}
			clock.advance(time.Second)
		}
		perKey := float64(heap()-before) / float64(n)
		if got := s.Stats().Entries; got != n {
			t.Fatalf("%s: %d entries, want %d", c.name, got, n)
		}
		t.Logf("%-30s %6.0f bytes", c.name, perKey)
		if perKey < 16 || perKey > c.atMost {
			t.Errorf("%s: %.0f bytes a key, want at most %.0f", c.name, perKey, c.atMost)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
