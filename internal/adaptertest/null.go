package adaptertest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// null is a store that costs nothing, so that what is measured is the adapter and core.
type null struct {
	core.Store

	says core.Outcome
}

func (s *null) Take(_ context.Context, _ []core.Bucket, out []core.Outcome) error {
	for i := range out {
		out[i] = s.says
	}
	return nil
}

func (s *null) Traits() core.Traits {
	return core.Traits{Algorithms: []core.Algorithm{core.TokenBucket}, Local: true}
}

// Null limits addresses, users and endpoints over a store that costs nothing and always says yes,
// or always no.
func Null(tb testing.TB, admits bool) *core.Limiter {
	tb.Helper()
	says := core.Outcome{Admits: admits, Charged: admits, Remaining: 212, ResetAfter: 200 * time.Millisecond, Source: core.FromShared}
	if !admits {
		says.Remaining, says.RetryAfter = 0, 200*time.Millisecond
	}
	l, err := core.New(&null{says: says}, core.Policy{core.PerIP(core.PerMinute(300)), core.PerUser(core.PerMinute(60)), core.PerEndpoint(core.PerSecond(1000))})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// NullUser is who asks: a UUID, as services have.
const NullUser = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// Bench measures a handler of net/http with a request for GET /items/7 and a writer that costs
// nothing, by the names that every adapter's benchmark has.
func Bench(b *testing.B, name string, h http.Handler) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/items/7", http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		r.RemoteAddr = "203.0.113.77:4711"
		w := &sink{header: http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			clear(w.header)
			h.ServeHTTP(w, r)
		}
	})
}

type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}
