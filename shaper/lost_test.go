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
