// Package fallback keeps a service deciding when its shared store fails.
//
// It wraps a shared store, such as redisstore, and holds a local half in this process. While the
// shared store answers, it decides. When it does not, a circuit breaker opens, and levels whose
// OnFailure is Local are decided from local buckets at this replica's share of each limit, in
// microseconds. A probe in the background brings the shared store back; no request waits for it.
//
// An outage is no fresh start: a local bucket begins with this replica's share of what the shared store
// last said was left, and what it admits is charged to the shared store when that is back. The share
// is one of the replicas that were counted through the shared store while it was well.
package fallback

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// Store is a core.Store over a shared one. It is safe for concurrent use.
type Store struct {
	shared   core.Store
	census   core.Census  // nil: shared cannot count replicas
	settler  core.Settler // nil: shared cannot tell a charge that is repeated
	local    *memstore.Store
	whole    *memstore.Store // of strict levels: their whole limits
	portion  portion
	id       string    // this replica's, new at each start
	start    time.Time // of the store's clock
	entries  []memstore.Option
	log      *slog.Logger
	onChange []func(Change)
	notices  notices

	breakers sync.Map // partition to *breaker
	watched  bool     // the shared store reports its calls itself
	decided  atomic.Uint64
	faults   [4]atomic.Uint64 // by core.Fault
	oddAt    atomic.Int64     // when a FaultRequest was last logged, in Unix nanoseconds

	known      known
	ledger     ledger
	settlement settlement
	settled    atomic.Uint64
	unsettled  atomic.Uint64
	until      atomic.Int64 // the end of the last hand-over; 0: of none
	outAt      atomic.Int64 // when a node last went out or came back, by the store's clock; 0: never
	readings   readings     // the keeper's
	uncounted  bool         // the keeper has told that it cannot count

	life   sync.Mutex // guards closed against new probes
	closed bool
	ctx    context.Context // ends with Close
	quit   context.CancelFunc
	probes sync.WaitGroup // and the keeper
}

// New wraps shared. It waits for no I/O: a service starts, and decides, while its shared store is
// away. Closing the Store closes shared.
func New(shared core.Store, opts ...Option) (*Store, error) {
	if shared == nil {
		return nil, errors.New("fallback: shared store is nil, want one such as redisstore")
	}
	if made, ok := shared.(interface{ Err() error }); ok && made.Err() != nil {
		return nil, fmt.Errorf("fallback: shared store: %w", made.Err())
	}
	if shared.Traits().Local {
		return nil, errors.New("fallback: shared store answers by itself and needs no fallback")
	}
	s := &Store{shared: shared, log: slog.Default(), id: rand.Text()[:16], start: time.Now()}
	s.known.seed, s.ledger.seed = maphash.MakeSeed(), maphash.MakeSeed()
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("fallback: option is nil, want a fallback.With... option")
		}
		if err := opt(s); err != nil {
			return nil, fmt.Errorf("fallback: %w", err)
		}
	}
	s.local, s.whole = memstore.New(s.entries...), memstore.New(s.entries...)
	if err := s.local.Err(); err != nil {
		return nil, fmt.Errorf("fallback: local half: %w", err)
	}
	s.census, _ = shared.(core.Census)
	s.settler, _ = shared.(core.Settler)
	s.ctx, s.quit = context.WithCancel(context.Background())
	if w, ok := shared.(core.Watcher); ok {
		s.watched = true
		w.Watch(func(partition string, err error) { s.breaker(partition).record(err) })
	}
	if s.census != nil || s.settler != nil {
		s.probes.Go(func() { s.keep(s.ctx) })
	}
	return s, nil
}

// Err is nil, but for a nil Store: what New returned beside an error that was not looked at.
func (s *Store) Err() error {
	if s == nil {
		return errors.New("fallback: store is nil: look at the error of fallback.New")
	}
	return nil
}

// Partition is the shared store's.
func (s *Store) Partition(key string) string { return s.shared.Partition(key) }

// Traits are the shared store's, with an answer of its own.
func (s *Store) Traits() core.Traits {
	t := s.shared.Traits()
	t.Local, t.Strict = true, true
	return t
}

// now is the store's own clock, which begins above 0.
func (s *Store) now() int64 { return int64(time.Since(s.start)) + 1 }

// Close ends what runs in the background, takes this replica out of the count and closes both halves.
// Closing twice is harmless. It waits until what has happened has been logged and told to the functions of
// WithOnChange, for a second at most: so it may be called from within one.
func (s *Store) Close() error {
	s.life.Lock()
	first := !s.closed
	s.closed = true
	s.life.Unlock()
	s.quit()
	s.probes.Wait()
	if first {
		s.leave()
	}
	s.notices.wait()
	return errors.Join(s.local.Close(), s.whole.Close(), s.shared.Close())
}

// Change is a change of state of one node of the shared store.
type Change struct {
	Partition string // the node; "" where there is one
	Degraded  bool   // decisions are local from now on; false: they are shared again
	At        time.Time
	Err       error // what opened the breaker; nil on return
}
