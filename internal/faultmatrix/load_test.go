package faultmatrix_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/httplimit"
)

const every = 10 * time.Millisecond // between two requests of a user

// request is what came of one.
type request struct {
	at     time.Time
	took   time.Duration
	source string
	status int
	other  bool // its bucket lives where nothing failed
}

// load sends requests to a service with the middleware: 100 a second of the first user, and as many of
// the others in turn.
type load struct {
	handler http.Handler
	users   []string

	mu   sync.Mutex
	seen []request
	stop chan struct{}
	done sync.WaitGroup
}

// plenty is a limit that refuses nobody.
var plenty = core.PerSecond(100_000)

func service(t *testing.T, s core.Store, l core.Limit) http.Handler {
	limiter, err := core.New(s, core.Policy{core.PerUser(l)})
	if err != nil {
		t.Fatal(err)
	}
	return httplimit.New(limiter, httplimit.WithUser(func(r *http.Request) string { return r.Header.Get("User") }))(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d, _ := core.FromContext(r.Context())
			w.Header().Set("Source", d.Source.String())
		}))
}

func (l *load) start() {
	l.stop = make(chan struct{})
	l.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := 0; ; i++ {
			l.done.Go(func() { l.send(0) })
			if n := len(l.users) - 1; n > 0 {
				l.done.Go(func() { l.send(1 + i%n) })
			}
			select {
			case <-l.stop:
				return
			case <-tick.C:
			}
		}
	})
}

func (l *load) end() { close(l.stop); l.done.Wait() }

func (l *load) send(user int) request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("User", l.users[user])
	w := httptest.NewRecorder()
	at := time.Now()
	l.handler.ServeHTTP(w, r)
	seen := request{at: at, took: time.Since(at), source: w.Header().Get("Source"), status: w.Code, other: user > 0}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, seen)
	return seen
}

// shared reports whether a request that was sent after a moment was decided by the Redis that had failed.
func (l *load) shared(after time.Time) (at time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.seen {
		if !r.other && !r.at.Before(after) && r.source == core.FromShared.String() {
			return r.at.Add(r.took), true
		}
	}
	return at, false
}

// regained counts the requests that the shared store let through.
func (l *load) regained() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.seen {
		if r.status == http.StatusOK && r.source == core.FromShared.String() {
			n++
		}
	}
	return n
}
