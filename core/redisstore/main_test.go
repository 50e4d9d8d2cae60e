package redisstore_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

const defaultBudget = 50 * time.Millisecond

func TestMain(m *testing.M) {
	logging.Disable() // go-redis tells of each dial that these tests make fail
	if given := os.Getenv(processEnv); given != "" {
		runProcess(given)
		return
	}
	goleak.VerifyTestMain(m, redistest.ClientLeftovers()...)
}

// open makes a store that is closed before its client is.
func open(t testing.TB, client redisstore.Client, opts ...redisstore.Option) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(client, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// connect makes a client that the test's end closes. nil options are go-redis' defaults.
func connect(t testing.TB, addr string, opt *redis.Options) *redis.Client {
	t.Helper()
	o := redis.Options{}
	if opt != nil {
		o = *opt
	}
	o.Addr = addr
	client := redis.NewClient(&o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func bucket(key string, l core.Limit) core.Bucket {
	return core.Bucket{Key: "1t:test::" + key + ":1s:id", Limit: l, Cost: 1, Level: key}
}

func costing(b core.Bucket, units int64) core.Bucket {
	b.Cost = units
	return b
}

// levels are the three buckets of one request.
func levels(id string) []core.Bucket {
	return []core.Bucket{
		bucket("ip"+id, core.PerHour(1000)), bucket("user"+id, core.PerHour(1000)), bucket("endpoint", core.Per(1_000_000, 1000*time.Hour)),
	}
}

func try(s core.Store, buckets ...core.Bucket) ([]core.Outcome, error) {
	out := make([]core.Outcome, len(buckets))
	err := s.Take(context.Background(), buckets, out)
	return out, err
}

func take(t testing.TB, s core.Store, buckets ...core.Bucket) []core.Outcome {
	t.Helper()
	out, err := try(s, buckets...)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	return out
}

func peek(t testing.TB, s core.Store, b core.Bucket) core.Outcome {
	t.Helper()
	out := make([]core.Outcome, 1)
	if err := s.Peek(context.Background(), []core.Bucket{b}, out); err != nil {
		t.Fatalf("Peek: %v", err)
	}
	return out[0]
}

// warm lets the server know the scripts, and the client n connections.
func warm(t testing.TB, client *redis.Client, n int) {
	t.Helper()
	s := open(t, client, redisstore.WithBudget(patient), redisstore.WithPrefix("warm"))
	take(t, s, bucket("warm", core.PerHour(1000)))
	peek(t, s, bucket("warm", core.PerHour(1000)))
	conns := make([]*redis.Conn, n)
	for i := range conns {
		conns[i] = client.Conn()
		if err := conns[i].Ping(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

func stored(b core.Bucket) string { return "tierlimit:" + b.Key }

// calls is how often the server ran each command since the last reset of its figures.
func calls(t testing.TB, server *redistest.Server) map[string]int {
	t.Helper()
	found := map[string]int{}
	for line := range strings.SplitSeq(fmt.Sprint(server.Do(t, "INFO", "commandstats")), "\r\n") {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		var n int
		if _, err := fmt.Sscanf(rest, "calls=%d", &n); ok && err == nil {
			found[name] = n
		}
	}
	return found
}

func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// together runs f(0) to f(n-1) in goroutines released at once and returns when all are done.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// watch collects what the store reports of its calls.
type watch struct {
	mu   sync.Mutex
	good int
	bad  []error
}

func watching(s *redisstore.Store) *watch {
	w := &watch{}
	s.Watch(func(_ string, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err == nil {
			w.good++
		} else {
			w.bad = append(w.bad, err)
		}
	})
	return w
}

func (w *watch) reports() (good int, bad []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.good, append([]error(nil), w.bad...)
}

func reset(t testing.TB, s core.Store, buckets ...core.Bucket) {
	t.Helper()
	if err := s.Reset(context.Background(), buckets); err != nil {
		t.Fatalf("Reset: %v", err)
	}
}
