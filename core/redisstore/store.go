// Package redisstore keeps buckets in Redis: one script call decides all levels of a request,
// and those of every request that arrives while a call is on its way.
//
// The clock is Redis' own. A decision never waits longer than the store's budget, whatever the
// client it was given is configured to, and is never charged twice for a reply that was lost.
// Only EVALSHA and EVAL are sent; the script itself uses TIME, MGET, SET, INCRBY, PEXPIRE and DEL, and the
// one that counts replicas ZADD, ZREMRANGEBYSCORE, ZREM and ZCARD.
//
// Over a Cluster, the buckets of a request are judged on their nodes at the same time, each node on
// its own clock. What was charged is given back where another node refuses, so that no limit is ever
// exceeded, but for that moment a charge can keep another request out; it stays spent where the
// node fails in between. A Cluster's keys differ from a single server's: each has a hash tag.
//
// Of a leased bucket (core.Level.Lease) a replica holds units that are charged already, and asks
// nobody while it has some: at most a sixteenth of the bucket, for at most a second without use.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// Client is what the store needs of a go-redis client: a *redis.Client, also one made by
// redis.NewFailoverClient for Sentinel, or a *redis.ClusterClient.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Store is a core.Store in Redis. It is safe for concurrent use.
type Store struct {
	client  Client
	budget  time.Duration
	prefix  string
	clock   func() time.Time // nil: the server's
	cluster *cluster         // nil: one server, and queue is its own
	queue   queue
	hangar  hangar
	denials denials
	leases  leases
	watch   watchers
	aside   aside
	closed  atomic.Bool
}

// Option configures a Store.
type Option func(*Store) error

// WithBudget sets how long a decision may wait for Redis in all: queueing, connecting and the
// answer. The default is 50 ms; 1 ms to 1 min.
func WithBudget(d time.Duration) Option {
	return func(s *Store) error {
		if d < time.Millisecond || d > time.Minute {
			return fmt.Errorf("budget is %v, want 1ms to 1m", d)
		}
		s.budget = d
		return nil
	}
}

// WithPrefix sets what every key begins with, before a colon and, in a Cluster, one of 256 hash tags: letters, digits, "_", "-" and
// ".", at most 64 bytes. The default is "tierlimit".
func WithPrefix(prefix string) Option {
	return func(s *Store) error {
		if !validPrefix(prefix) {
			return fmt.Errorf("prefix is %q, want 1 to 64 letters, digits, dots, _ or -", prefix)
		}
		s.prefix = prefix + ":"
		return nil
	}
}

// WithDenyCache sets for how long at most a denial is remembered in this process, 0 to 1 min; the
// default is 1 s, 0 asks Redis each time. Requests that need more than a remembered bucket can
// hold by now are refused here, in nanoseconds, as core.FromCache. A reset or refund made
// through this store counts at once, one made by another replica within that time.
func WithDenyCache(age time.Duration) Option {
	return func(s *Store) error {
		if age < 0 || age > time.Minute {
			return fmt.Errorf("deny cache age is %v, want 0 to 1m", age)
		}
		s.denials.age = int64(age)
		return nil
	}
}

// WithClock replaces the server's clock, for tests: in production it would make every limit
// depend on the clocks of the replicas.
func WithClock(now func() time.Time) Option {
	return func(s *Store) error {
		if now == nil {
			return errors.New("clock is nil, want a function")
		}
		s.clock = now
		return nil
	}
}

func validPrefix(p string) bool {
	for i := range len(p) {
		c := p[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return p != "" && len(p) <= 64
}

// New makes a store over client, which stays the caller's to configure and to close. No option
// of it has to be changed. New does no I/O, so a service starts while Redis is away.
func New(client Client, opts ...Option) (*Store, error) {
	s := &Store{client: client, budget: 50 * time.Millisecond, prefix: "tierlimit:"}
	s.denials.age = int64(defaultDenyAge)
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("redisstore: option is nil, want a redisstore.With... option")
		}
		if err := opt(s); err != nil {
			return nil, fmt.Errorf("redisstore: %w", err)
		}
	}
	switch c := client.(type) {
	case nil:
		return nil, errNilClient
	case *redis.Client:
		if c == nil {
			return nil, errNilClient
		}
		// Without this, a connection on which Redis hangs is held for the client's own
		// timeout, which may be seconds or for ever.
		s.client = c.WithTimeout(2 * s.budget)
	case redis.Pipeliner:
		return nil, fmt.Errorf("redisstore: client is a %T, which only queues commands, want a *redis.Client", client)
	case *redis.ClusterClient:
		if c == nil {
			return nil, errNilClient
		}
		s.cluster = newCluster(s, c)
	case *redis.Ring:
		return nil, fmt.Errorf("redisstore: client is a %T, want a *redis.Client or a *redis.ClusterClient", client)
	}
	s.denials.open(s.clock)
	s.queue.hangar, s.queue.budget, s.queue.send = &s.hangar, s.budget, s.send
	s.queue.report = func(err error) { s.report("", err) }
	s.leases.now, s.leases.hangar, s.leases.later = s.denials.now, &s.hangar, s.later
	return s, nil
}

var errNilClient = errors.New("redisstore: client is nil, want a *redis.Client or a *redis.ClusterClient")

// Must is New for programs that set the store up once; it panics on an error.
func Must(client Client, opts ...Option) *Store {
	s, err := New(client, opts...)
	if err != nil {
		panic(err)
	}
	return s
}

// Err is nil, but for a nil Store: what New returned beside an error that was not looked at.
func (s *Store) Err() error {
	if s == nil {
		return errors.New("redisstore: store is nil: look at the error of redisstore.New")
	}
	return nil
}

// Partition is the address of the primary that a key lives on in a Cluster, as far as that is known,
// and "" otherwise: one server fails as a whole.
func (s *Store) Partition(key string) string {
	if s.cluster != nil {
		return s.cluster.partition(key)
	}
	return ""
}

// Traits tells that the store cannot answer without Redis.
func (s *Store) Traits() core.Traits {
	return core.Traits{Algorithms: []core.Algorithm{core.TokenBucket}}
}

// Close makes every later call fail with core.ErrClosed, gives back what leases have not spent
// and waits for calls under way, at most six times the budget. The client is left open.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.leases.close()
	if most := (connectBudgets + 1) * s.budget; s.cluster != nil {
		s.cluster.wait(most)
	} else {
		s.queue.wait(most)
	}
	s.aside.wait(connectBudgets * s.budget)
	return nil
}
