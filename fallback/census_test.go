package fallback_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestReplicasCountEachOther(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var all []*fallback.Store
	counted := func(want int) func() bool {
		return func() bool {
			for _, s := range all {
				if h := s.Health(); h.Replicas != want || h.Assumed || h.Share != 1/float64(want) {
					return false
				}
			}
			return true
		}
	}
	join := func() {
		all = append(all, wrap(t, redisstore.Must(server.Client(t), redisstore.WithBudget(time.Second))))
	}
	join()
	join()
	join()
	eventually(t, "three count each other", 10*time.Second, counted(3))
	join()
	eventually(t, "a fourth joins", 15*time.Second, counted(4))
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	all = all[1:]
	if n := server.Do(t, "ZCARD", "tierlimit:replicas"); n != int64(3) {
		t.Errorf("%v replicas are there after one has closed, want 3", n)
	}
	eventually(t, "one leaves", 15*time.Second, counted(3))
	for _, s := range all {
		take(t, s, clusterBucket(0))
	}
	eventually(t, "witnesses", 5*time.Second, func() bool { return len(server.Do(t, "KEYS", "*witness*").([]any)) == 3 })
	for _, s := range all {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left := append(server.Do(t, "KEYS", "*witness*").([]any), server.Do(t, "KEYS", "*replicas").([]any)...); len(left) != 0 {
		t.Errorf("%v are left behind", left)
	}
}

func TestAGivenShareIsNotCounted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := wrap(t, redisstore.Must(server.Client(t), redisstore.WithBudget(time.Second)), fallback.WithReplicas(7))
	other := wrap(t, redisstore.Must(server.Client(t), redisstore.WithBudget(time.Second)))
	eventually(t, "the other is counted", 10*time.Second, func() bool { return other.Health().Replicas == 1 })
	if h := s.Health(); h.Share != 1.0/7 || h.Replicas != 0 || h.Assumed {
		t.Errorf("%+v, want the share that was given", h)
	}
}

// A replica that has never reached its store and was told nothing takes the whole limit, and says so.
func TestAShareThatIsAssumedIsTold(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = client.Close() })
	s, err := fallback.New(redisstore.Must(client), fallback.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	l := limiter(t, s, core.PerUser(core.PerHour(50)))
	if n := admitted(l, user, 100); n != 50 {
		t.Errorf("%d admitted, want the limit of 50", n)
	}
	if h := s.Health(); !h.Assumed || h.Share != 1 || h.Replicas != 0 {
		t.Errorf("%+v, want an assumed share of 1", h)
	}
	eventually(t, "breaker", time.Second, func() bool { return s.Health().Degraded })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "assumes one replica"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}

// A user who may decide but not count is told of once; nothing else changes.
func TestRightsToCountAreNotNeededToDecide(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(t, "ACL", "SETUSER", "limiter", "reset", "on", ">secret", "~tierlimit:*", "+evalsha", "+eval", "+time", "+mget", "+set", "+incrby", "+pexpire", "+del")
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "limiter", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	var log bytes.Buffer
	s, err := fallback.New(redisstore.Must(client, redisstore.WithBudget(time.Second)), fallback.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	l := limiter(t, s, core.PerUser(core.PerHour(50)))
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if d := l.Check(t.Context(), user); !d.Allowed || d.Source != core.FromShared {
			t.Fatalf("%+v", d)
		}
	}
	h := s.Health()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if h.Degraded || !h.Assumed {
		t.Errorf("%+v, want health with an assumed share", h)
	}
	if n := strings.Count(log.String(), "replicas cannot be counted"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}
