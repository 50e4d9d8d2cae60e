package shaper_test

import (
	"context"
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
