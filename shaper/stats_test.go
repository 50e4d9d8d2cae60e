package shaper_test

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

func TestStatsTellLag(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Client(t), fast)
	if s := stats(t, q); s != (shaper.Stats{}) {
		t.Errorf("never used: %+v", s)
	}
	begun := time.Now()
	add(t, q, "a")
	eventually(t, 5*time.Second, "lag", func() bool { return stats(t, q).Lag >= 30*time.Millisecond })
	add(t, q, "b")
	s := stats(t, q)
	if most := time.Since(begun) + 5*time.Millisecond; s.Lag > most || s.Oldest != s.Lag || s.Waiting != 2 || s.Backlog != 2 || s.InProgress != 0 {
		t.Errorf("%+v after %v", s, most)
	}
	block := make(chan struct{})
	work(t, q, 1, func(context.Context, shaper.Job) error { <-block; return nil })
	eventually(t, 5*time.Second, "a job in work", func() bool { return stats(t, q).InProgress == 1 })
	if s := stats(t, q); s.Waiting != 1 || s.Lag >= s.Oldest || s.Oldest < 30*time.Millisecond {
		t.Errorf("with the first in work: %+v", s)
	}
	close(block)
	drained(t, q, 5*time.Second)
}
