package shaper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

func TestJobsAreDoneOnceAndLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast)
	before := add(t, q, "a", "") // before there is a worker
	var r record
	stop := work(t, q, 3, r.handle)
	large := bytes.Repeat([]byte("\x00\xff\r\n"), shaper.MaxPayload/4)
	ids := slices.Concat(before, add(t, q, "c\r\n{}", string(large)))
	drained(t, q, 5*time.Second)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
	got := map[string]string{}
	for _, j := range r.all() {
		got[j.ID] = string(j.Payload)
		if j.Attempt != 1 || time.Since(j.Added).Abs() > time.Minute {
			t.Errorf("job %s: attempt %d, added %v", j.ID, j.Attempt, j.Added)
		}
	}
	if len(r.all()) != 4 || got[ids[0]] != "a" || got[ids[1]] != "" || got[ids[2]] != "c\r\n{}" || got[ids[3]] != string(large) {
		t.Errorf("%d jobs: %.100q", len(r.all()), got)
	}
	if s := stats(t, q); s != (shaper.Stats{Done: 4}) {
		t.Errorf("%+v, want 4 done and nothing else", s)
	}
	if n := server.Do(t, "XLEN", "tierlimit:shaper:{mail}:jobs"); n != int64(0) {
		t.Errorf("%v entries of done jobs stay", n)
	}
	if c := server.Do(t, "XINFO", "CONSUMERS", "tierlimit:shaper:{mail}:jobs", "workers"); len(c.([]any)) != 0 {
		t.Errorf("workers that ended are remembered: %v", c)
	}
}

func TestFullQueueRefusesAndIsNeverExceeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithBacklog(50))
	var added, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			switch _, err := q.Add(context.Background(), []byte(fmt.Sprint(i))); {
			case err == nil:
				added.Add(1)
			case errors.Is(err, shaper.ErrFull):
				refused.Add(1)
			default:
				t.Errorf("Add: %v", err)
			}
		})
	}
	wg.Wait()
	if added.Load() != 50 || refused.Load() != 150 || stats(t, q).Backlog != 50 {
		t.Errorf("%d added, %d refused, backlog %d, want 50, 150, 50", added.Load(), refused.Load(), stats(t, q).Backlog)
	}
	var r record
	work(t, q, 1, r.handle)
	drained(t, q, 5*time.Second)
	add(t, q, "room again")
	eventually(t, 5*time.Second, "all 51 jobs", func() bool { return len(r.all()) == 51 })
}

// A job in work is unfinished and counts.
func TestJobInWorkIsPartOfTheBacklog(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Client(t), fast, shaper.WithBacklog(1))
	begun, end := make(chan struct{}), make(chan struct{})
	work(t, q, 1, func(context.Context, shaper.Job) error {
		close(begun)
		<-end
		return nil
	})
	add(t, q, "one")
	<-begun
	if _, err := q.Add(t.Context(), nil); !errors.Is(err, shaper.ErrFull) {
		t.Errorf("Add: %v, want ErrFull", err)
	}
	if s := stats(t, q); s.Backlog != 1 || s.InProgress != 1 || s.Waiting != 0 || s.Lag != 0 || s.Oldest < 0 {
		t.Errorf("%+v", s)
	}
	close(end)
	drained(t, q, 5*time.Second)
}
