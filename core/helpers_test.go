package core_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// epoch is "now" of the header vectors.
var epoch = time.Unix(1767225600, 250_000_000)

// clock stands still until a test moves it.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return epoch.Add(time.Duration(c.ns.Load())) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }
func (c *clock) set(d time.Duration)     { c.ns.Store(int64(d)) }

// memory is an in-process store with a frozen clock.
func memory(t testing.TB, opts ...memstore.Option) (*memstore.Store, *clock) {
	t.Helper()
	c := &clock{}
	s := memstore.New(append(opts, memstore.WithClock(c.now))...)
	t.Cleanup(func() { _ = s.Close() })
	return s, c
}

func limiter(t testing.TB, s core.Store, p core.Policy, opts ...core.Option) *core.Limiter {
	t.Helper()
	l, err := core.New(s, p, opts...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return l
}

// limiting is a limiter over a fresh in-process store with a frozen clock.
func limiting(t testing.TB, p core.Policy, opts ...core.Option) (*core.Limiter, *clock) {
	t.Helper()
	s, c := memory(t)
	return limiter(t, s, p, opts...), c
}

func user(name string) core.Request { return core.Request{User: name} }

func from(ip string) core.Request { return core.Request{IP: netip.MustParseAddr(ip)} }

// on fills in a request that every built-in level applies to.
func on(ip, user, endpoint string) core.Request {
	return core.Request{IP: netip.MustParseAddr(ip), User: user, Endpoint: endpoint}
}

func cost(r core.Request, n int64) core.Request {
	r.Cost = n
	return r
}

// left is what remains of a level, without charging.
func left(t testing.TB, l *core.Limiter, r core.Request, level string) int64 {
	t.Helper()
	for _, part := range l.Peek(ctx, r).Levels() {
		if part.Level == level {
			return part.Remaining
		}
	}
	t.Fatalf("level %q does not apply to %+v", level, r)
	return 0
}

// admitted counts how many of n equal requests pass.
func admitted(l *core.Limiter, r core.Request, n int) (out int) {
	for range n {
		if l.Check(ctx, r).Allowed {
			out++
		}
	}
	return out
}

// lines are the headers of a decision in order, "Name: value".
func lines(d core.Decision) (out []string) {
	for name, value := range d.Headers() {
		out = append(out, name+": "+value)
	}
	return out
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// script is a store that answers what its test says, and notes what it was asked.
type script struct {
	answer func(buckets []core.Bucket, out []core.Outcome) error // of Take and Peek; nil: admits
	later  error                                                 // of the other methods
	traits core.Traits

	mu    sync.Mutex
	calls []call
}

type call struct {
	method  string
	buckets []core.Bucket
}

// scripted answers with these outcomes, in the policy's order, and marks what it admits as charged.
func scripted(outcomes ...core.Outcome) *script {
	s := &script{traits: core.Traits{Algorithms: everyAlgorithm, Local: true}}
	s.answer = func(_ []core.Bucket, out []core.Outcome) error {
		for i := range out {
			o := core.Outcome{Admits: true, Source: core.FromShared}
			if i < len(outcomes) {
				o = outcomes[i]
			}
			o.Charged = o.Admits
			out[i] = o
		}
		return nil
	}
	return s
}

// failing cannot answer.
func failing(err error) *script {
	s := scripted()
	s.answer = func([]core.Bucket, []core.Outcome) error { return err }
	return s
}

var everyAlgorithm = []core.Algorithm{core.TokenBucket, core.LeakyBucket, core.FixedWindow, core.SlidingWindow, core.SlidingLog}

func (s *script) note(method string, buckets []core.Bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{method, slices.Clone(buckets)})
}

// asked lists the calls so far, "Take 2" for one of two buckets.
func (s *script) asked() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		out = append(out, fmt.Sprintf("%s %d", c.method, len(c.buckets)))
	}
	return out
}

// buckets are those of the latest call.
func (s *script) buckets(t testing.TB) []core.Bucket {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		t.Fatal("the store was not called")
	}
	return s.calls[len(s.calls)-1].buckets
}

func (s *script) Take(_ context.Context, b []core.Bucket, out []core.Outcome) error {
	s.note("Take", b)
	return s.answer(b, out)
}

func (s *script) Peek(_ context.Context, b []core.Bucket, out []core.Outcome) error {
	s.note("Peek", b)
	err := s.answer(b, out)
	for i := range out {
		out[i].Charged = false
	}
	return err
}

func (s *script) Debit(_ context.Context, b []core.Bucket) error {
	s.note("Debit", b)
	return s.later
}

func (s *script) Refund(_ context.Context, b []core.Bucket, _ []core.Outcome) error {
	s.note("Refund", b)
	return s.later
}

func (s *script) Reset(_ context.Context, b []core.Bucket) error {
	s.note("Reset", b)
	return s.later
}

func (s *script) Partition(string) string { return "" }
func (s *script) Traits() core.Traits     { return s.traits }
func (s *script) Close() error            { return nil }
