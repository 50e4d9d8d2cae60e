package fallback_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/fallback"
)

var errDown = errors.New("connection refused")

// fake is a shared store that fails when it is told to. Its buckets are real.
type fake struct {
	*memstore.Store
	mu    sync.Mutex
	err   error
	slow  time.Duration
	takes int
}

func newFake() *fake { return &fake{Store: memstore.New()} }

func (f *fake) Traits() core.Traits {
	return core.Traits{Algorithms: []core.Algorithm{core.TokenBucket}}
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fake) answer() error {
	f.mu.Lock()
	f.takes++
	err, slow := f.err, f.slow
	f.mu.Unlock()
	time.Sleep(slow)
	return err
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes
}

func (f *fake) Take(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	if err := f.answer(); err != nil {
		return err
	}
	err := f.Store.Take(ctx, b, out)
	shared(out)
	return err
}

func (f *fake) Peek(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	if err := f.answer(); err != nil {
		return err
	}
	err := f.Store.Peek(ctx, b, out)
	shared(out)
	return err
}

func (f *fake) Refund(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	if err := f.answer(); err != nil {
		return err
	}
	return f.Store.Refund(ctx, b, out)
}

func (f *fake) Debit(ctx context.Context, b []core.Bucket) error {
	if err := f.answer(); err != nil {
		return err
	}
	return f.Store.Debit(ctx, b)
}

func (f *fake) Reset(ctx context.Context, b []core.Bucket) error {
	if err := f.answer(); err != nil {
		return err
	}
	return f.Store.Reset(ctx, b)
}

func shared(out []core.Outcome) {
	for i := range out {
		out[i].Source = core.FromShared
	}
}

// wrap makes a fallback over a shared store, closed with the test.
func wrap(t *testing.T, shared core.Store, opts ...fallback.Option) *fallback.Store {
	t.Helper()
	s, err := fallback.New(shared, append([]fallback.Option{fallback.WithLogger(discard)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func limiter(t *testing.T, s core.Store, levels ...core.Level) *core.Limiter {
	t.Helper()
	l, err := core.New(s, levels)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// admitted counts how many of n checks are admitted.
func admitted(l *core.Limiter, r core.Request, n int) (count int) {
	for range n {
		if l.Check(context.Background(), r).Allowed {
			count++
		}
	}
	return count
}

// eventually waits for ok, which a background probe brings about.
func eventually(t *testing.T, what string, within time.Duration, ok func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(start)
}
