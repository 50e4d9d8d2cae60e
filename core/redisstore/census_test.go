package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// censusRights are what counting replicas takes beside what requests do.
var censusRights = []any{"+zadd", "+zremrangebyscore", "+zrem", "+zcard"}

func live(t testing.TB, s *redisstore.Store, replica string, ttl time.Duration) int {
	t.Helper()
	n, err := s.Live(t.Context(), replica, ttl)
	if err != nil {
		t.Fatalf("Live: %v", err)
	}
	return n
}

func TestReplicasAreCountedWhileTheyAreThere(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := new(storetest.Clock)
	s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	for i, want := range []int{1, 2, 3} {
		if n := live(t, s, fmt.Sprint("r", i), 4*time.Second); n != want {
			t.Errorf("%d replicas, want %d", n, want)
		}
	}
	clock.Advance(3 * time.Second)
	if n := live(t, s, "r0", 4*time.Second); n != 3 {
		t.Errorf("%d replicas after one has come again, want 3", n)
	}
	clock.Advance(1500 * time.Millisecond)
	if n := live(t, s, "r3", 4*time.Second); n != 2 {
		t.Errorf("%d replicas when two have said no more, want 2", n)
	}
	if err := s.Leave(t.Context(), "r3"); err != nil {
		t.Fatal(err)
	}
	if n := live(t, s, "r0", 4*time.Second); n != 1 {
		t.Errorf("%d replicas when another has left, want 1", n)
	}
	other := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithPrefix("other"))
	if n := live(t, other, "r9", time.Second); n != 1 {
		t.Errorf("%d replicas of another prefix, want 1", n)
	}
	if ms := server.Do(t, "PTTL", "tierlimit:replicas").(int64); ms <= 0 || ms > 4000 {
		t.Errorf("the count lives %d ms, want 4 s at most", ms)
	}
	if _, err := s.Live(t.Context(), "", time.Second); err == nil {
		t.Error("no error for a replica without a name")
	}
}

// A service whose user may not count decides as before: that is no failure of the server.
func TestCountingTakesItsOwnRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, restricted(t, server, append(slices.Clone(rights), censusRights...)...), redisstore.WithBudget(patient))
	if n := live(t, s, "r", time.Second); n != 1 {
		t.Errorf("%d replicas, want 1", n)
	}
	if err := s.Leave(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	for i, right := range censusRights {
		t.Run(fmt.Sprint(right), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s := open(t, restricted(t, server, append(slices.Clone(rights), slices.Delete(slices.Clone(censusRights), i, i+1)...)...), redisstore.WithBudget(patient))
			w := watching(s)
			_, err := s.Live(t.Context(), "r", time.Second)
			err = errors.Join(err, s.Leave(t.Context(), "r"))
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(fmt.Sprint(right), "+")) && core.FaultOf(err) != core.FaultConfig {
				t.Errorf("fault %v of %v, want FaultConfig", core.FaultOf(err), err)
			}
			if _, bad := w.reports(); len(bad) > 0 {
				t.Errorf("reported as calls that failed: %v", bad)
			}
		})
	}
}

// Whoever counts waits no longer than for a connection and an answer, whatever the client does.
func TestCountingIsBounded(t *testing.T) {
	t.Parallel()
	for name, opt := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s := open(t, connect(t, server.Addr(), opt))
			live(t, s, "r", time.Second)
			server.Stop()
			for range 3 {
				start := time.Now()
				_, err := s.Live(t.Context(), "r", time.Second)
				if took := time.Since(start); err == nil || took > 4*defaultBudget+time.Second {
					t.Errorf("%v after %v", err, took)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			start := time.Now()
			if _, err := s.Live(ctx, "r", time.Second); core.FaultOf(err) != core.FaultCaller || time.Since(start) > time.Second {
				t.Errorf("%v after %v, want the caller's fault at once", err, time.Since(start))
			}
			server.Cont()
			eventually(t, 10*time.Second, "count", func() bool { _, err := s.Live(t.Context(), "r", time.Second); return err == nil })
		})
	}
}

func TestAClosedStoreCountsNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t))
	_ = s.Close()
	if _, err := s.Live(t.Context(), "r", time.Second); !errors.Is(err, core.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if err := s.DebitOnce(t.Context(), "id", []core.Owed{{Bucket: bucket("b", core.PerHour(1)), Time: 1}}); !errors.Is(err, core.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}

func countOverCluster(t *testing.T, cluster *redistest.Cluster) {
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient))
	for i := range 3 {
		if n := live(t, s, fmt.Sprint("r", i), 4*time.Second); n != i+1 {
			t.Errorf("%d replicas, want %d", n, i+1)
		}
	}
}
