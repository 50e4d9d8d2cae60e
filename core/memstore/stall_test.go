//go:build !race

package memstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// A million entries are swept a little at a time: no request waits for the sweeper. A busy
// machine may pause anything once, so the best of some attempts counts.
func TestMillionKeysStallNobody(t *testing.T) {
	s := memstore.New(memstore.WithMaxEntries(1 << 21))
	defer s.Close()
	for i := range 1_000_000 {
		take(t, s, bucket(fmt.Sprint(i), core.PerMinute(1), 1))
	}
	if got := s.Stats().Entries; got != 1_000_000 {
		t.Fatalf("%d entries, want a million", got)
	}
	worst := time.Hour
	for attempt := 0; attempt < 4 && worst > 100*time.Millisecond; attempt++ {
		worst = slowest(t, s, attempt, 2*time.Second)
	}
	if worst > 100*time.Millisecond {
		t.Errorf("a request took %v", worst)
	}
}

func slowest(t *testing.T, s *memstore.Store, attempt int, d time.Duration) (worst time.Duration) {
	for start, i := time.Now(), 0; time.Since(start) < d; i++ {
		before := time.Now()
		take(t, s, bucket(fmt.Sprint("probe", attempt, "/", i%1000), core.PerSecond(10), 1))
		worst = max(worst, time.Since(before))
	}
	return worst
}
