package shaper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

// each counts how often each payload was done.
func (r *record) each() map[string]int {
	n := map[string]int{}
	for _, j := range r.all() {
		n[string(j.Payload)]++
	}
	return n
}

// Redis is killed and stopped while jobs are in work and waiting. It persists, so what Add has
// acknowledged is done.
func TestWorkGoesOnWhenRedisIsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--dir", t.TempDir())
	q := open(t, server.Client(t), core.PerSecond(200), shaper.WithClaimAfter(time.Second))
	var r record
	stop := work(t, q, 3, r.handle)
	acknowledged := 0
	addMany := func(n int) {
		for range n {
			if _, err := q.Add(t.Context(), []byte(fmt.Sprint(acknowledged))); err == nil {
				acknowledged++
			} else if core.FaultOf(err) != core.FaultStore || errors.Is(err, shaper.ErrFull) {
				t.Errorf("Add: %v", err)
			}
		}
	}
	for range 3 {
		addMany(60)
		server.Kill()
		addMany(2)
		time.Sleep(200 * time.Millisecond) // the workers meet a dead server
		server.Launch()
		eventually(t, 10*time.Second, "Redis is back", func() bool { _, err := q.Stats(t.Context()); return err == nil })
		addMany(60)
		server.Stop()
		time.Sleep(200 * time.Millisecond)
		server.Cont()
	}
	drained(t, q, 30*time.Second)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
	done := r.each()
	for i := range acknowledged {
		if done[fmt.Sprint(i)] == 0 {
			t.Errorf("job %d was acknowledged and not done", i)
		}
	}
	t.Logf("%d of 366 acknowledged, %d starts", acknowledged, len(r.all()))
}

func TestRedisThatComesBackEmptyIsUsedAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast)
	var r record
	stop := work(t, q, 2, r.handle)
	add(t, q, "before")
	drained(t, q, 5*time.Second)
	server.Restart()
	eventually(t, 10*time.Second, "an added job", func() bool { _, err := q.Add(t.Context(), []byte("after")); return err == nil })
	drained(t, q, 10*time.Second)
	server.Do(t, "FLUSHALL") // without a broken connection
	add(t, q, "flushed")
	drained(t, q, 10*time.Second)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
	if n := r.each(); n["before"] != 1 || n["after"] < 1 || n["flushed"] != 1 {
		t.Errorf("%v", n)
	}
}

// What a handler finished while Redis was away is written afterwards, not done again.
func TestEndOfAJobIsWrittenOnceRedisIsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	watcher := open(t, server.Client(t), fast)
	q := open(t, connectTo(t, proxy.Addr()), fast)
	add(t, watcher, "a")
	begun, end := make(chan struct{}), make(chan struct{})
	stop := work(t, q, 1, func(context.Context, shaper.Job) error {
		close(begun)
		<-end
		return nil
	})
	<-begun
	proxy.SetMode(redistest.Refuse)
	close(end)
	time.Sleep(2 * time.Second) // longer than the client itself keeps dialling
	if s := stats(t, watcher); s.Backlog != 1 || s.Done != 0 {
		t.Errorf("%+v", s)
	}
	proxy.SetMode(redistest.Pass)
	drained(t, watcher, 10*time.Second)
	if s := stats(t, watcher); s.Done != 1 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
}

// Where it cannot be written before the grace is over, Work says so.
func TestWorkSaysThatAnEndCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Client(t), fast, shaper.WithGrace(300*time.Millisecond))
	begun := make(chan struct{})
	stop := work(t, q, 1, func(context.Context, shaper.Job) error {
		close(begun)
		server.Kill()
		return nil
	})
	id := add(t, q, "a")[0]
	<-begun
	errs := stop()
	if len(errs) != 1 || core.FaultOf(errs[0]) != core.FaultStore || !strings.Contains(errs[0].Error(), id) {
		t.Errorf("Work: %v, want an error that names job %s", errs, id)
	}
}
