package shaper_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

func TestFailedAndPanickingJobsAreTriedAgainAndThenDie(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("broken thing") },
		"a panic":  func() error { panic("broken thing") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := open(t, redistest.Start(t).Client(t), fast, shaper.WithAttempts(3), shaper.WithRetryAfter(0))
			ids := add(t, q, "bad", "good", "slow to learn")
			var r record
			stop := work(t, q, 2, func(_ context.Context, j shaper.Job) error {
				r.note(j)
				if string(j.Payload) == "bad" || string(j.Payload) == "slow to learn" && j.Attempt < 3 {
					return fail()
				}
				return nil
			})
			drained(t, q, 10*time.Second)
			if errs := stop(); len(errs) > 0 {
				t.Errorf("Work: %v", errs)
			}
			attempts := map[string][]int{}
			for _, j := range r.all() {
				attempts[j.ID] = append(attempts[j.ID], j.Attempt)
			}
			for i, want := range [][]int{{1, 2, 3}, {1}, {1, 2, 3}} {
				if got := attempts[ids[i]]; !equal(got, want) {
					t.Errorf("job %d: attempts %v, want %v", i, got, want)
				}
			}
			if s := stats(t, q); s != (shaper.Stats{Done: 2, Failed: 5, Dead: 1}) {
				t.Errorf("%+v", s)
			}
			dead, err := q.Dead(t.Context(), "", 10)
			if err != nil || len(dead) != 1 {
				t.Fatalf("dead: %+v, %v", dead, err)
			}
			d := dead[0]
			if d.Job.ID != ids[0] || string(d.Job.Payload) != "bad" || d.Job.Attempt != 3 || !strings.Contains(d.Error, "broken thing") ||
				d.Died.Before(d.Job.Added) || d.Job.Added.IsZero() {
				t.Errorf("%+v", d)
			}
		})
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A handler that ends its goroutine takes its worker along, not the job.
func TestJobOutlivesAHandlerThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Client(t), fast, shaper.WithClaimAfter(200*time.Millisecond))
	add(t, q, "a")
	var r record
	handle := func(_ context.Context, j shaper.Job) error {
		if r.note(j); j.Attempt == 1 {
			runtime.Goexit()
		}
		return nil
	}
	work(t, q, 2, handle)
	drained(t, q, 10*time.Second)
	if got := r.all(); len(got) != 2 {
		t.Errorf("%d starts, want 2", len(got))
	}
}

func TestFailedJobRests(t *testing.T) {
	t.Parallel()
	const rest = 700 * time.Millisecond
	q := open(t, redistest.Start(t).Client(t), fast, shaper.WithClaimAfter(time.Second), shaper.WithRetryAfter(rest))
	add(t, q, "a")
	var r record
	work(t, q, 2, func(_ context.Context, j shaper.Job) error {
		if r.note(j); j.Attempt == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	drained(t, q, 10*time.Second)
	if passed := r.at[1].Sub(r.at[0]); passed < rest || passed > rest+3*time.Second {
		t.Errorf("tried again after %v, want %v and at most a while more", passed, rest)
	}
}

func TestDeadJobsAreReadRevivedAndDiscarded(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Client(t), fast, shaper.WithAttempts(1), shaper.WithBacklog(5))
	stop := work(t, q, 1, func(context.Context, shaper.Job) error { return errors.New("no") })
	add(t, q, "a", "b", "c")
	drained(t, q, 10*time.Second)
	stop()
	first, err := q.Dead(t.Context(), "", 2)
	if err != nil || len(first) != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	rest, err := q.Dead(t.Context(), first[1].ID, 10)
	if err != nil || len(rest) != 1 || string(rest[0].Job.Payload) != "c" {
		t.Fatalf("%+v, %v", rest, err)
	}
	if n, err := q.Discard(t.Context(), first[0].ID, "1-1"); n != 1 || err != nil {
		t.Errorf("discarded %d, %v", n, err)
	}
	if n, err := q.Discard(t.Context()); n != 0 || err != nil {
		t.Errorf("discarded %d, %v", n, err)
	}
	id, err := q.Revive(t.Context(), first[1].ID)
	if err != nil || id == "" || id == first[1].Job.ID {
		t.Errorf("revived as %q, %v", id, err)
	}
	if _, err := q.Revive(t.Context(), first[1].ID); !errors.Is(err, shaper.ErrNotFound) {
		t.Errorf("revived twice: %v", err)
	}
	add(t, q, "1", "2", "3", "4")
	if _, err := q.Revive(t.Context(), rest[0].ID); !errors.Is(err, shaper.ErrFull) {
		t.Errorf("revived into a full queue: %v", err)
	}
	if s := stats(t, q); s.Dead != 1 || s.Backlog != 5 {
		t.Errorf("%+v", s)
	}
	var r record
	work(t, q, 1, r.handle)
	drained(t, q, 10*time.Second)
	if j := r.all()[0]; string(j.Payload) != "b" || j.Attempt != 1 || j.ID != id {
		t.Errorf("%+v", j)
	}
}
