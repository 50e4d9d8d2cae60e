package shaper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// Client is what a queue needs of a go-redis client: a *redis.Client, also one made by
// redis.NewFailoverClient for Sentinel, or a *redis.ClusterClient.
type Client interface {
	redisstore.Client
	XReadGroup(ctx context.Context, a *redis.XReadGroupArgs) *redis.XStreamSliceCmd
}

// Queue is one side or both of a queue in Redis: processes that make one with the same name, prefix
// and Redis share it. It is safe for concurrent use. Make one with New.
type Queue struct {
	client     Client
	name       string
	prefix     string
	backlog    int
	attempts   int
	claimAfter time.Duration
	retryAfter time.Duration
	retrySet   bool
	grace      time.Duration
	log        *slog.Logger
	keys       keys
	tempo      tempo

	mu      sync.Mutex
	closed  bool
	stop    chan struct{} // closed by Close
	workers sync.WaitGroup
}

// keys of one queue have one hash tag, so that a script may touch them all in a Cluster.
type keys struct{ jobs, dead, counts string }

// group is the consumer group of all workers.
const group = "workers"

// New makes a queue over client, which stays the caller's to configure and to close. The name is 1
// to 64 letters, digits, dots, "_" or "-". Of the limit, Quota and Period give the pace; Burst must be
// 0, since WithBacklog bounds the queue, and the Algorithm TokenBucket (the zero value) or LeakyBucket,
// which mean the same here. All workers of a queue should have the same limit: each takes its slots by
// its own. New does no I/O, so a service starts while Redis is away.
func New(client Client, name string, limit core.Limit, opts ...Option) (*Queue, error) {
	q := &Queue{
		client: client, name: name, prefix: "tierlimit", backlog: 10_000, attempts: 5,
		claimAfter: 30 * time.Second, grace: 10 * time.Second, log: slog.Default(), stop: make(chan struct{}),
	}
	if !validName(name) {
		return nil, fmt.Errorf("shaper: name is %q, want 1 to 64 letters, digits, dots, _ or -", name)
	}
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("shaper: option is nil, want a shaper.With... option")
		}
		if err := opt(q); err != nil {
			return nil, fmt.Errorf("shaper: %w", err)
		}
	}
	switch {
	case !q.retrySet:
		q.retryAfter = q.claimAfter
	case q.retryAfter > q.claimAfter:
		return nil, fmt.Errorf("shaper: retry after is %v, want at most claim after, %v", q.retryAfter, q.claimAfter)
	}
	base := q.prefix + ":shaper:{" + name + "}:"
	q.keys = keys{jobs: base + "jobs", dead: base + "dead", counts: base + "counts"}
	var err error
	if q.tempo, err = newTempo(name, limit); err != nil {
		return nil, fmt.Errorf("shaper: %w", err)
	}
	if _, ok := client.(*redis.Ring); ok {
		return nil, fmt.Errorf("shaper: client is a %T, want a *redis.Client or a *redis.ClusterClient", client)
	}
	trial, err := openStore(client, q.prefix) // it knows which other clients will do
	if err != nil {
		return nil, fmt.Errorf("shaper: %w", err)
	}
	return q, trial.Close()
}

// Close ends every Work of this Queue as if its context had ended, waits for them, and makes all
// later calls fail with ErrClosed. It must not be called by a handler. The client is left open, and so is
// the queue in Redis. Closing twice is harmless.
func (q *Queue) Close() error {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.stop)
	}
	q.mu.Unlock()
	q.workers.Wait()
	return nil
}

// enter makes a worker's context, which Close ends too. leave must be called.
func (q *Queue) enter(ctx context.Context) (worker context.Context, leave func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil, ErrClosed
	}
	q.workers.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-q.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); q.workers.Done() }, nil
}

// ask makes a call that its caller may leave: the client may not come back for seconds.
func (q *Queue) ask(ctx context.Context, call func() (any, error)) (any, error) {
	select {
	case <-q.stop:
		return nil, ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return nil, gone(ctx)
	}
	type answer struct {
		reply any
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		reply, err := call()
		answers <- answer{reply, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil && ctx.Err() != nil && replyOf(a.err) == "" {
			return nil, gone(ctx)
		}
		return a.reply, a.err
	case <-ctx.Done():
		return nil, gone(ctx)
	}
}
