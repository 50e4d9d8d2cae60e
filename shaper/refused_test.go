package shaper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

func TestAddTellsWhyNot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	q := open(t, connectTo(t, proxy.Addr()), fast)
	if _, err := q.Add(t.Context(), make([]byte, shaper.MaxPayload+1)); !errors.Is(err, shaper.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	add(t, q, "connected")
	ended, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	proxy.SetMode(redistest.BlackHole)
	begun := time.Now()
	if _, err := q.Add(ended, nil); core.FaultOf(err) != core.FaultCaller || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > time.Second {
		t.Errorf("caller gone: %v after %v", err, time.Since(begun))
	}
	proxy.SetMode(redistest.Refuse)
	if _, err := q.Add(t.Context(), nil); err == nil || core.FaultOf(err) != core.FaultStore || errors.Is(err, shaper.ErrFull) {
		t.Errorf("Redis away: %v", err)
	}
	proxy.SetMode(redistest.Pass)
	server.Do(t, "DEL", "tierlimit:shaper:{mail}:jobs")
	server.Do(t, "SET", "tierlimit:shaper:{mail}:jobs", "foreign")
	if _, err := q.Add(t.Context(), nil); err == nil || core.FaultOf(err) != core.FaultConfig {
		t.Errorf("foreign key: %v", err)
	}
	_ = q.Close()
	if _, err := q.Add(t.Context(), nil); !errors.Is(err, shaper.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := q.Work(t.Context(), (&record{}).handle); !errors.Is(err, shaper.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// A reply that is lost must not make the client add the job again.
func TestAddIsSentOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.StartProxy(t, server.Addr())
	client := connect(t, redis.Options{Addr: proxy.Addr(), ReadTimeout: 200 * time.Millisecond})
	q := open(t, client, fast)
	add(t, q, "the script is known")
	var conns []*redis.Conn // that a repetition could use
	for range 5 {
		c := client.Conn()
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	proxy.SetMode(redistest.SwallowReplies)
	if _, err := q.Add(t.Context(), []byte("lost")); err == nil || core.FaultOf(err) != core.FaultStore {
		t.Fatalf("lost reply: %v", err)
	}
	proxy.SetMode(redistest.Pass)
	if n := server.Do(t, "XLEN", jobsKey); n != int64(2) {
		t.Errorf("%v jobs, want 2", n)
	}
}
