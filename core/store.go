package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Store remembers buckets. It decides nothing but what one bucket can decide, and keeps one
// promise: Take charges all the buckets it is given or none of them (shadow buckets aside).
// core/storetest holds every store to it.
//
// No two buckets of one call have the same Key. A store whose options can be wrong, and whose
// constructor returns no error, tells of it by a method Err() error.
//
// An error means that the store could not answer; a denial is no error. A store that gave
// an error charged each bucket at most once. A call that it gave up may still be charged later;
// what it learns of then it gives back. All methods are safe for concurrent use.
type Store interface {
	// Take judges the buckets in one step and charges each its Cost if every bucket that is
	// not Shadow admits. A Shadow bucket is charged whenever it alone admits. It fills
	// out[i] for buckets[i]; len(out) == len(buckets). Neither slice is kept.
	Take(ctx context.Context, buckets []Bucket, out []Outcome) error
	// Peek fills out as Take would and changes nothing: Remaining is what is left before the
	// charge that Take would make.
	Peek(ctx context.Context, buckets []Bucket, out []Outcome) error
	// Debit charges each bucket its Cost whether it admits or not, down to empty at most.
	Debit(ctx context.Context, buckets []Bucket) error
	// Refund gives back buckets[i].Cost of what Take charged for out[i], where Charged is
	// true: at most what time cannot have given back yet, which is what lies between now and
	// the instant at which the charge would be paid off, and never above the capacity. A
	// bucket does not remember its charges one by one, so refunds in another order than the
	// charges may each give back early, never more than their own cost.
	Refund(ctx context.Context, buckets []Bucket, out []Outcome) error
	// Reset makes the buckets as good as never used.
	Reset(ctx context.Context, buckets []Bucket) error
	// Partition names the node that a key lives on, for stores whose nodes fail one by one.
	// A store with one node returns "".
	Partition(key string) string
	// Traits tells what the store can do. It does not change.
	Traits() Traits
	// Close ends what the store runs in the background. It does not close a client that was
	// handed to it. Closing twice is harmless; after it the other methods return ErrClosed.
	Close() error
}

// Traits is what a limiter must know of its store when it is made.
type Traits struct {
	Algorithms []Algorithm // those it can run
	Shapes     bool        // it heeds what WithStep, WithStart, WithOffset and PerCalendar say of a limit
	Strict     bool        // it heeds Bucket.Strict
	Bans       bool        // it has buckets of bans (see Limit.Ban)
	Local      bool        // it answers even when a shared store behind it cannot
}

// runs says why the store cannot run a limit, or returns nil.
func (t Traits) runs(l Limit) error {
	switch {
	case l.kind != counted:
	case !slices.Contains(t.Algorithms, l.Algorithm):
		return fmt.Errorf("algorithm %v is not one the store has: %v", l.Algorithm, t.Algorithms)
	case l.Shaped() && !t.Shapes:
		return fmt.Errorf("limit is %v, and the store has no steps, starts, offsets or calendars", l)
	}
	return nil
}

// Bucket is one counter of one request: a limit of a level for one identity.
type Bucket struct {
	Key       string // printable, at most 384 bytes; equal keys are one bucket; it keeps the whole decision in memory: clone what is kept
	Limit     Limit  // valid, neither Unlimited nor BlockAll
	Cost      int64  // units, 1 or more; may be above the capacity, which is then never admitted
	Level     string // the level's name, for reports
	Shadow    bool
	OnFailure FailureMode
	Strict    bool // it is to be held in process too (see Level.Strict)
	Lease     bool // the store may take units ahead and spend them in process (see Level.Lease)
}

// Outcome is what a store says of one bucket.
type Outcome struct {
	Admits  bool // this bucket alone admits the cost
	Charged bool // and was charged it
	// Skipped is that the bucket was not looked at, because another had refused the request
	// already. It counts neither for nor against it, and nothing is said of it.
	Skipped    bool
	Source     Source
	Remaining  int64         // whole units left, after the charge if there was one
	RetryAfter time.Duration // until the cost would be admitted; 0 if Admits
	ResetAfter time.Duration // until the next unit is back, or the window ends; 0 when full
	Delay      time.Duration // leaky bucket: serve after this long
	Err        error         // this bucket could not be judged; of the rest only Source is set
	Receipt    Receipt       // what Refund needs to know of the charge
	Held       Receipt       // and of that in process, where the bucket is Strict
}

// Receipt is written and read by one store and opaque to everybody else.
type Receipt [2]int64

// ErrClosed is what a closed store answers.
var ErrClosed = errors.New("store is closed")

// Fault tells whose fault a store's error is, which decides whether a circuit breaker may
// count it.
type Fault uint8

const (
	// FaultStore is the store's: network, time-out, a server that refuses. It counts.
	// An error that is no StoreError counts as one.
	FaultStore Fault = iota
	// FaultConfig is the operator's: authentication, permissions, a missing command. It
	// counts, and will not mend itself.
	FaultConfig
	// FaultRequest could be caused by a client: it never counts.
	FaultRequest
	// FaultCaller is that the caller's own context ended: it never counts, and nobody
	// waits for the answer.
	FaultCaller
)

// StoreError is the error of a store that knows whose fault it is.
type StoreError struct {
	Fault     Fault
	Partition string
	Err       error
}

func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// FaultOf classifies any error of a store.
func FaultOf(err error) Fault {
	if e, ok := errors.AsType[*StoreError](err); ok {
		return e.Fault
	}
	return FaultStore
}

// Watcher is a store that reports each call it makes to a node once, however many requests
// the call carried: nil for an answer in time, else the error. A circuit breaker that counts
// calls so is not tripped by one slow call that many requests shared. The function must not
// block. Watch may be called more than once: each function is told of every call.
type Watcher interface {
	Watch(func(partition string, err error))
}
