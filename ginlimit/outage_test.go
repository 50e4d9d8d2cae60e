package ginlimit_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/ginlimit"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

const (
	outage     = 2 * time.Second
	slowest    = 150 * time.Millisecond // three times what a decision may wait for Redis
	waits      = 40 * time.Millisecond  // less than the budget: this answer waited for it
	backWithin = 2 * time.Second
)

// What a service's clients see of an outage of Redis, with a go-redis client as it comes.
func TestRedisOutage(t *testing.T) {
	for name, fault := range map[string]struct{ hit, heal func(*redistest.Server) }{
		"killed":  {(*redistest.Server).Kill, (*redistest.Server).Restart},
		"stopped": {(*redistest.Server).Stop, (*redistest.Server).Cont},
	} {
		t.Run(name, func(t *testing.T) {
			redis := redistest.Start(t)
			url := overRedis(t, redis)
			if source := ask(t, url, "ann").source; source != "shared" {
				t.Fatalf("at first the source is %q, want shared", source)
			}
			greedy(t, url, "greedy before", "shared")

			load := start(t, url)
			defer load.stop()
			time.Sleep(outage / 4)
			fault.hit(redis)
			time.Sleep(outage)
			greedy(t, url, "greedy in the outage", "local")
			fault.heal(redis)
			back := time.Now()
			for ask(t, url, "ann").source != "shared" {
				if time.Since(back) > 5*backWithin {
					t.Fatalf("decisions are not shared again after %v", time.Since(back))
				}
				time.Sleep(5 * time.Millisecond)
			}
			took := time.Since(back)
			time.Sleep(outage / 4)
			seen := load.stop()

			t.Logf("%d requests, %d of them decided locally; the slowest took %v, without a limiter %v; shared again after %v", seen.requests, seen.local, seen.slowest, seen.noise, took)
			if seen.local == 0 || seen.shared == 0 {
				t.Errorf("%d requests were decided locally and %d by Redis, want some of both", seen.local, seen.shared)
			}
			if took > backWithin && !raceEnabled {
				t.Errorf("decisions were shared again after %v, want %v at most", took, backWithin)
			}
			if seen.waited > seen.requests/20 && !raceEnabled {
				t.Errorf("%d of %d answers waited for Redis, want the breaker to spare all but the first", seen.waited, seen.requests)
			}
			if seen.slowest > slowest+seen.noise && !raceEnabled {
				t.Errorf("the slowest answer took %v, want %v and the machine's own %v at most", seen.slowest, slowest, seen.noise)
			}
		})
	}
}

// overRedis serves a gin service and returns its URL. Each answer is the source of its decision.
func overRedis(t *testing.T, redis *redistest.Server) string {
	store, err := fallback.New(redisstore.Must(redis.Client(t)), fallback.WithReplicas(1), fallback.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := core.New(store, core.Policy{
		core.PerIP(core.PerSecond(100_000)),
		core.PerUser(core.PerSecond(50_000)),
		core.PerEndpoint(core.PerSecond(100_000)),
		core.PerKey("greedy", core.ByHeader("X-Greedy"), core.PerHour(5)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	e := gin.New()
	e.GET("/plain", func(c *gin.Context) { c.String(http.StatusOK, "no limiter") })
	e.Use(ginlimit.New(limiter, ginlimit.WithUser(func(c *gin.Context) string { return c.GetHeader("X-User") })))
	e.GET("/items/:id", func(c *gin.Context) {
		d, _ := core.FromContext(c.Request.Context())
		c.String(http.StatusOK, d.Source.String())
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return fmt.Sprintf("http://%s", l.Addr())
}
