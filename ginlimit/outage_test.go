package ginlimit_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
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
	slowest    = 150 * time.Millisecond // three times what a decision may take
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

			t.Logf("%d requests, %d of them decided locally; the slowest took %v; shared again after %v", seen.requests, seen.local, seen.slowest, took)
			if seen.local == 0 || seen.shared == 0 {
				t.Errorf("%d requests were decided locally and %d by Redis, want some of both", seen.local, seen.shared)
			}
			if took > backWithin && !raceEnabled {
				t.Errorf("decisions were shared again after %v, want %v at most", took, backWithin)
			}
			if seen.slowest > slowest && !raceEnabled {
				t.Errorf("the slowest answer took %v, want %v at most", seen.slowest, slowest)
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
	return fmt.Sprintf("http://%s/items/1", l.Addr())
}

type reply struct {
	status int
	source string
	took   time.Duration
}

// ask makes a request. It may be called from any goroutine.
func ask(t *testing.T, url, user string, greedy ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	r.Header.Set("X-User", user)
	for _, g := range greedy {
		r.Header.Set("X-Greedy", g)
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return reply{resp.StatusCode, string(body), time.Since(began)}
}

// greedy asks for more than the limit of 5 and gets 5, by the source's account.
func greedy(t *testing.T, url, who, source string) {
	t.Helper()
	for i := range 8 {
		got := ask(t, url, "ann", who)
		if i < 5 && (got.status != 200 || got.source != source) || i >= 5 && got.status != http.StatusTooManyRequests {
			t.Errorf("%s, request %d: %d by %q", who, i+1, got.status, got.source)
		}
	}
}

// load is users asking all the time.
type load struct {
	quit    chan struct{}
	workers sync.WaitGroup

	mu                      sync.Mutex
	requests, local, shared int
	slowest                 time.Duration
}

func start(t *testing.T, url string) *load {
	l := &load{quit: make(chan struct{})}
	for i := range 4 {
		l.workers.Go(func() {
			for {
				select {
				case <-l.quit:
					return
				case <-time.After(2 * time.Millisecond):
				}
				l.note(t, ask(t, url, fmt.Sprintf("user-%d", i)))
			}
		})
	}
	return l
}

func (l *load) note(t *testing.T, r reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.slowest = max(l.slowest, r.took)
	switch {
	case r.status != 200:
		t.Errorf("an answer was %d", r.status)
	case r.source == "local":
		l.local++
	case r.source == "shared":
		l.shared++
	default:
		t.Errorf("a decision was from %q", r.source)
	}
}

func (l *load) stop() *load {
	close(l.quit)
	l.workers.Wait()
	return l
}
