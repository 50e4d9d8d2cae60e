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
// redis.NewFailoverClient for Sentinel, a *redis.ClusterClient, or a *redis.Ring.
//
// A Ring decides by itself which of its servers a key lives on: while it takes one for down, that
// one's buckets are those of another, and begin anew there and when they are back.
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

	replicas int       // that have to confirm each call
	pipes    pipeliner // the client, where they have to

	watch  watchers
	aside  aside
	closed atomic.Bool
}

// New makes a store over client, which stays the caller's to configure and to close. No option
// of it has to be changed. New does no I/O, so a service starts while Redis is away. Hooks that were
// added to client, such as those of tracing, do not see the store's calls, of which each carries many checks.
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
		return nil, fmt.Errorf("redisstore: client is a %T, which only queues commands, want a *redis.Client or another client", client)
	case *redis.ClusterClient:
		if c == nil {
			return nil, errNilClient
		}
		s.cluster = newCluster(s, slotMap{c})
	case *redis.Ring:
		if c == nil {
			return nil, errNilClient
		}
		s.cluster = newCluster(s, shards{c})
	}
	if s.pipes, _ = s.client.(pipeliner); s.replicas > 0 && s.pipes == nil {
		return nil, fmt.Errorf("redisstore: client is a %T, which has no pipelines, want a *redis.Client or a *redis.ClusterClient with WithWait", client)
	}
	s.denials.open(s.clock)
	if s.hangar.now = s.clock; s.clock == nil {
		s.hangar.now = time.Now
	}
	s.queue.hangar, s.queue.budget, s.queue.send = &s.hangar, s.budget, s.send
	s.queue.report = func(err error) { s.report("", err) }
	s.leases.now, s.leases.hangar, s.leases.later = s.denials.now, &s.hangar, s.later
	return s, nil
}

var errNilClient = errors.New("redisstore: client is nil, want a *redis.Client, a *redis.ClusterClient or a *redis.Ring")

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
	return core.Traits{
		Algorithms: []core.Algorithm{core.TokenBucket, core.LeakyBucket, core.FixedWindow, core.SlidingWindow, core.SlidingLog},
		Shapes:     true,
		Bans:       true,
	}
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
