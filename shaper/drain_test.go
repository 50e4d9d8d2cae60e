package shaper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

func TestWorkEndsAfterTheJobInHand(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Client(t), fast)
	add(t, q, "in hand", "waits")
	begun, end := make(chan struct{}, 2), make(chan struct{})
	stop := work(t, q, 1, func(ctx context.Context, _ shaper.Job) error {
		begun <- struct{}{}
		select {
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	<-begun
	time.AfterFunc(200*time.Millisecond, func() { close(end) })
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
	if s := stats(t, q); s.Done != 1 || s.Backlog != 1 || s.InProgress != 0 {
		t.Errorf("%+v, want the one in hand done and the other untouched", s)
	}
}

// Also by Close, which is the same.
func TestHandlerIsToldWhenTheGraceIsOver(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithGrace(200*time.Millisecond), shaper.WithAttempts(1), shaper.WithClaimAfter(time.Hour))
	add(t, q, "endless")
	begun := make(chan struct{})
	var passed time.Duration
	work(t, q, 1, func(ctx context.Context, _ shaper.Job) error {
		close(begun)
		since := time.Now()
		<-ctx.Done()
		passed = time.Since(since)
		if !errors.Is(context.Cause(ctx), shaper.ErrStopped) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		return ctx.Err()
	})
	<-begun
	if err := q.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if passed < 200*time.Millisecond || passed > 5*time.Second {
		t.Errorf("told after %v, want 200ms", passed)
	}
	// Another has it at once, and as the first attempt: being stopped is no failure.
	next := open(t, server.Client(t), fast, shaper.WithAttempts(1), shaper.WithClaimAfter(time.Hour))
	var r record
	work(t, next, 1, r.handle)
	drained(t, next, 5*time.Second)
	if j := r.all(); len(j) != 1 || j[0].Attempt != 1 {
		t.Errorf("%+v", j)
	}
	if s := stats(t, next); s != (shaper.Stats{Done: 1}) {
		t.Errorf("%+v", s)
	}
}

// A worker that only waits for its slot goes at once and leaves the job to others.
func TestWorkThatWaitsForItsSlotEndsAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limit := core.PerMinute(1)
	q := open(t, server.Client(t), limit, shaper.WithClaimAfter(time.Hour))
	add(t, q, "first", "second")
	var r record
	stop := work(t, q, 1, r.handle)
	eventually(t, 5*time.Second, "the second waits for its slot", func() bool {
		s := stats(t, q)
		return s.Done == 1 && s.InProgress == 1
	})
	begun := time.Now()
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
	if passed := time.Since(begun); passed > 2*time.Second {
		t.Errorf("ended after %v", passed)
	}
	next := open(t, server.Client(t), fast, shaper.WithClaimAfter(time.Hour), shaper.WithAttempts(1))
	server.Do(t, "DEL", "tierlimit:shaper:{mail}:pace") // its minute is not what is under test
	work(t, next, 1, r.handle)
	drained(t, next, 5*time.Second)
	if j := r.all(); len(j) != 2 || j[1].Attempt != 1 {
		t.Errorf("%+v", j)
	}
}

func TestIdleWorkEndsSoon(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Client(t), fast)
	stop := work(t, q, 2, (&record{}).handle)
	add(t, q, "a")
	drained(t, q, 5*time.Second)
	begun := time.Now()
	stop()
	if passed := time.Since(begun); passed > 2*time.Second {
		t.Errorf("ended after %v, want half a second", passed)
	}
}
