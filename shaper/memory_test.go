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

// A Redis without room takes no job, which is not the queue being full; jobs in work can leave, and the
// others wait.
func TestRedisWithoutMemoryLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithAttempts(1))
	begun, end := make(chan struct{}, 9), make(chan error)
	work(t, q, 2, func(context.Context, shaper.Job) error {
		begun <- struct{}{}
		return <-end
	})
	add(t, q, "good", "bad")
	<-begun
	<-begun
	server.Do(t, "CONFIG", "SET", "maxmemory", "1mb")
	if _, err := q.Add(t.Context(), []byte("no room")); core.FaultOf(err) != core.FaultStore || err == nil || errors.Is(err, shaper.ErrFull) {
		t.Errorf("Add: %v", err)
	}
	end <- nil
	eventually(t, 5*time.Second, "the done job has left", func() bool { return stats(t, q).Backlog == 1 })
	end <- errors.New("to be buried, which takes memory")
	time.Sleep(200 * time.Millisecond)
	if s := stats(t, q); s.Backlog != 1 || s.Dead != 0 {
		t.Errorf("%+v", s)
	}
	server.Do(t, "CONFIG", "SET", "maxmemory", "0")
	drained(t, q, 10*time.Second)
	if s := stats(t, q); s.Dead != 1 {
		t.Errorf("%+v", s)
	}
}
