package fallback

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestWhatCountOneGoesBy(t *testing.T) {
	const failed = -1
	for name, c := range map[string]struct{ counts, want []int64 }{
		"steady":                          {[]int64{4, 4, 4}, []int64{4, 4, 4}},
		"start together":                  {[]int64{1, 4, 4, 4}, []int64{1, 4, 4, 4}},
		"one joins":                       {[]int64{4, 4, 4, 5, 5}, []int64{4, 4, 4, 4, 5}},
		"one leaves":                      {[]int64{4, 4, 4, 3, 3}, []int64{4, 4, 4, 4, 3}},
		"all were counted twice once":     {[]int64{4, 4, 4, 8, 4, 4}, []int64{4, 4, 4, 4, 4, 4}},
		"a store that lost its memory":    {[]int64{4, 4, 4, 1, 4, 4}, []int64{4, 4, 4, 4, 4, 4}},
		"an outage":                       {[]int64{4, 4, 4, failed, failed, 1, 2, 4, 4, 4}, []int64{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
		"an outage in which one has left": {[]int64{4, 4, 4, failed, 1, 2, 3, 3, 3}, []int64{4, 4, 4, 4, 4, 4, 4, 4, 3}},
		"an outage in which one has come": {[]int64{4, 4, 4, failed, 5, 5}, []int64{4, 4, 4, 4, 5, 5}},
		"started in an outage":            {[]int64{failed, failed, 2, 3, 4}, []int64{0, 0, 2, 3, 4}},
	} {
		var r readings
		now, count, got := int64(1), int64(0), []int64(nil)
		for _, n := range c.counts {
			now += int64(countEvery - time.Millisecond)
			if n == failed {
				r.failed(now)
			} else {
				count = r.take(n, count, now)
			}
			got = append(got, count)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: counts of %v are taken for %v, want %v", name, c.counts, got, c.want)
		}
	}
}

// alone is a shared store that has lost its memory: whoever asks is the first.
type alone struct{ *memstore.Store }

func (alone) Traits() core.Traits { return core.Traits{} }

func (alone) Live(context.Context, string, time.Duration) (int, error) { return 1, nil }

func (alone) Leave(context.Context, string) error { return nil }

// An outage that fell between two counts has been one.
func TestNoCountIsBelievedSoonAfterAnOutage(t *testing.T) {
	s, err := New(alone{memstore.New()}, WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.quit()
	s.probes.Wait() // the keeper is this test
	s.portion.replicas.Store(4)
	b := s.breaker("")
	s.changed(b, true)
	s.changed(b, false)
	for range 5 {
		s.count(t.Context())
	}
	if n := s.portion.replicas.Load(); n != 4 {
		t.Errorf("%d replicas are believed in just after an outage, want the 4 of before", n)
	}
	s.outAt.Store(0)
	s.readings = readings{}
	for range 3 {
		s.count(t.Context())
	}
	if n := s.portion.replicas.Load(); n != 1 {
		t.Errorf("%d replicas are believed in without one, want the one that was counted", n)
	}
}
