package shaper_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis tells of each dial that these tests make fail
	if order := os.Getenv(workerEnv); order != "" {
		os.Exit(beWorker(order))
	}
	goleak.VerifyTestMain(m, redistest.ClientLeftovers()...)
}

// fast is a limit whose pace no test waits for.
var fast = core.PerSecond(100_000)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// open makes a queue that is closed before its client is.
func open(t testing.TB, client shaper.Client, limit core.Limit, opts ...shaper.Option) *shaper.Queue {
	t.Helper()
	q, err := shaper.New(client, "mail", limit, append([]shaper.Option{shaper.WithLogger(quiet)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// connect makes a client that the test's end closes.
func connect(t testing.TB, opt redis.Options) *redis.Client {
	t.Helper()
	client := redis.NewClient(&opt)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// connectTo has the defaults of go-redis.
func connectTo(t testing.TB, addr string) *redis.Client {
	t.Helper()
	return connect(t, redis.Options{Addr: addr})
}

func add(t testing.TB, q *shaper.Queue, payloads ...string) (ids []string) {
	t.Helper()
	for _, p := range payloads {
		id, err := q.Add(context.Background(), []byte(p))
		if err != nil {
			t.Fatalf("Add(%q): %v", p, err)
		}
		ids = append(ids, id)
	}
	return ids
}

func stats(t testing.TB, q *shaper.Queue) shaper.Stats {
	t.Helper()
	s, err := q.Stats(context.Background())
	if err != nil {
		t.Fatalf("Stats: %v", err)
	}
	return s
}

// work runs workers until stop is called, or the test ends. stop returns what Work did.
func work(t testing.TB, q *shaper.Queue, n int, handle func(context.Context, shaper.Job) error) (stop func() []error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = q.Work(ctx, handle) })
	}
	stop = sync.OnceValue(func() []error {
		cancel()
		wg.Wait()
		return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	})
	t.Cleanup(func() { stop() })
	return stop
}

// record is a handler's memory of the jobs that it was given.
type record struct {
	mu   sync.Mutex
	jobs []shaper.Job
	at   []time.Time
}

func (r *record) note(j shaper.Job) {
	now := time.Now() // not after waiting for the lock
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs, r.at = append(r.jobs, j), append(r.at, now)
}

func (r *record) all() []shaper.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.jobs)
}

func (r *record) handle(_ context.Context, j shaper.Job) error {
	r.note(j)
	return nil
}

func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// drained waits until the queue has no unfinished job.
func drained(t testing.TB, q *shaper.Queue, within time.Duration) {
	t.Helper()
	eventually(t, within, "an empty queue", func() bool {
		s, err := q.Stats(context.Background())
		return err == nil && s.Backlog == 0
	})
}
