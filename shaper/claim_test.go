package shaper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

const jobsKey = "tierlimit:shaper:{mail}:jobs"

// steal has a worker that never comes back take every job that waits.
func steal(t testing.TB, server *redistest.Server, n int) {
	t.Helper()
	server.Do(t, "XREADGROUP", "GROUP", "workers", "dead:1:x", "COUNT", n, "STREAMS", jobsKey, ">")
}

func TestJobOfALivingWorkerIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Client(t), fast, shaper.WithClaimAfter(300*time.Millisecond))
	add(t, q, "long")
	var r record
	work(t, q, 3, func(_ context.Context, j shaper.Job) error {
		r.note(j)
		time.Sleep(2 * time.Second)
		return nil
	})
	drained(t, q, 10*time.Second)
	if got := r.all(); len(got) != 1 {
		t.Errorf("%d starts, want 1", len(got))
	}
}

func TestAbandonedJobsAreClaimedBeforeNewOnes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithClaimAfter(300*time.Millisecond))
	server.Do(t, "XGROUP", "CREATE", jobsKey, "workers", "0", "MKSTREAM")
	var old []string
	for i := range 30 { // more than one look at the pending jobs covers
		old = append(old, fmt.Sprint("old", i))
	}
	add(t, q, old...)
	steal(t, server, 30)
	time.Sleep(310 * time.Millisecond) // their age is what is under test
	add(t, q, "new")
	var r record
	stop := work(t, q, 1, r.handle)
	drained(t, q, 10*time.Second)
	stop()
	got := r.all()
	if len(got) != 31 || string(got[30].Payload) != "new" {
		t.Fatalf("%d jobs, the last %+v", len(got), got[len(got)-1])
	}
	for _, j := range got {
		if j.Attempt != 1 {
			t.Errorf("%s: attempt %d: a job that was only taken was not started", j.Payload, j.Attempt)
		}
	}
	work(t, q, 1, r.handle)
	eventually(t, 5*time.Second, "the dead worker is forgotten", func() bool {
		return !strings.Contains(fmt.Sprint(server.Do(t, "XINFO", "CONSUMERS", jobsKey, "workers")), "dead:1:x")
	})
}

// A job whose workers die each time they start it is not tried for ever.
func TestJobThatKillsItsWorkersDies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithClaimAfter(200*time.Millisecond), shaper.WithAttempts(2))
	server.Do(t, "XGROUP", "CREATE", jobsKey, "workers", "0", "MKSTREAM")
	id := add(t, q, "deadly")[0]
	steal(t, server, 1)
	server.Do(t, "XCLAIM", jobsKey, "workers", "dead:1:x", 0, id, "RETRYCOUNT", 3, "JUSTID") // two starts
	var r record
	work(t, q, 1, r.handle)
	drained(t, q, 10*time.Second)
	dead, err := q.Dead(t.Context(), "", 1)
	if err != nil || len(dead) != 1 || dead[0].Job.ID != id || dead[0].Job.Attempt != 2 || !strings.Contains(dead[0].Error, "died") {
		t.Errorf("%+v, %v", dead, err)
	}
	if len(r.all()) != 0 {
		t.Error("started a third time")
	}
}

// A worker that was cut off for too long hears that its job is another's, and what it says of the
// job then counts for nothing.
func TestWorkerThatLostItsJobIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	const claimAfter = 500 * time.Millisecond
	cutOff := open(t, connectTo(t, proxy.Addr()), fast, shaper.WithClaimAfter(claimAfter), shaper.WithAttempts(1))
	other := open(t, server.Client(t), fast, shaper.WithClaimAfter(claimAfter), shaper.WithAttempts(2))
	begun, cause, end := make(chan struct{}), make(chan error, 1), make(chan struct{})
	stopCutOff := work(t, cutOff, 1, func(ctx context.Context, _ shaper.Job) error {
		close(begun)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return ctx.Err()
	})
	add(t, other, "contested")
	<-begun
	proxy.SetMode(redistest.Refuse)
	var r record
	work(t, other, 1, func(_ context.Context, j shaper.Job) error {
		r.note(j)
		<-end
		return nil
	})
	eventually(t, 10*time.Second, "the other worker has it", func() bool { return len(r.all()) == 1 })
	proxy.SetMode(redistest.Pass)
	select {
	case err := <-cause:
		if !errors.Is(err, shaper.ErrLost) {
			t.Errorf("cause %v, want ErrLost", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("not told")
	}
	if errs := stopCutOff(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
	if s := stats(t, other); s.Backlog != 1 || s.Dead != 0 || s.Failed != 0 {
		t.Errorf("the loser's word counted: %+v", s)
	}
	close(end)
	drained(t, other, 5*time.Second)
	if s := stats(t, other); s != (shaper.Stats{Done: 1}) || r.all()[0].Attempt != 2 {
		t.Errorf("%+v, %+v", s, r.all())
	}
}

// Many jobs that others work on, or that rest, do not hide an abandoned one behind them.
func TestAbandonedJobIsFoundBehindManyOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithClaimAfter(time.Hour))
	server.Do(t, "XGROUP", "CREATE", jobsKey, "workers", "0", "MKSTREAM")
	var held []string
	for i := range 700 {
		held = append(held, fmt.Sprint(i))
	}
	ids := add(t, q, held...)
	steal(t, server, len(held))
	last := ids[len(ids)-1]
	server.Do(t, "XCLAIM", jobsKey, "workers", "dead:1:x", 0, last, "IDLE", time.Hour.Milliseconds(), "JUSTID")
	var r record
	work(t, q, 1, r.handle)
	eventually(t, 10*time.Second, "the abandoned job", func() bool { return len(r.all()) == 1 })
	if j := r.all()[0]; j.ID != last {
		t.Errorf("%+v", j)
	}
}

// It may finish before it hears of that.
func TestWordOfAWorkerThatLostItsJobCountsForNothing(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]error{"failed": errors.New("no"), "done": nil} {
		for _, attempts := range []int{1, 9} {
			t.Run(fmt.Sprint(name, attempts), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				loser := open(t, server.Client(t), fast, shaper.WithClaimAfter(time.Hour), shaper.WithAttempts(attempts))
				begun, end := make(chan struct{}), make(chan struct{})
				stop := work(t, loser, 1, func(context.Context, shaper.Job) error {
					close(begun)
					<-end
					return result
				})
				id := add(t, loser, "contested")[0]
				<-begun
				server.Do(t, "XCLAIM", jobsKey, "workers", "other:1:x", 0, id, "JUSTID")
				close(end)
				eventually(t, 5*time.Second, "the loser is idle", func() bool {
					return result == nil || strings.Contains(fmt.Sprint(server.Do(t, "CLIENT", "LIST")), "cmd=xreadgroup")
				})
				if result == nil { // done is done, whoever has it
					drained(t, loser, 5*time.Second)
				}
				stop()
				want := shaper.Stats{Backlog: 1, InProgress: 1}
				if result == nil {
					want = shaper.Stats{Done: 1}
				}
				got := stats(t, loser)
				got.Oldest = 0
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		}
	}
}

func TestJobDeletedFromOutsideIsNoObstacle(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithClaimAfter(200*time.Millisecond))
	server.Do(t, "XGROUP", "CREATE", jobsKey, "workers", "0", "MKSTREAM")
	ids := add(t, q, "deleted", "kept")
	steal(t, server, 2)
	server.Do(t, "XDEL", jobsKey, ids[0])
	var r record
	work(t, q, 1, r.handle)
	drained(t, q, 10*time.Second)
	if got := r.all(); len(got) != 1 || string(got[0].Payload) != "kept" {
		t.Errorf("%+v", got)
	}
	eventually(t, 5*time.Second, "nothing in progress", func() bool { return stats(t, q).InProgress == 0 })
}
