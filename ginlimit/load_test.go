package ginlimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

type reply struct {
	status int
	source string
	took   time.Duration
}

// ask makes a request behind the limiter.
func ask(t *testing.T, url, user string, greedy ...string) reply {
	t.Helper()
	return get(t, url+"/items/1", user, greedy...)
}

// get may be called from any goroutine.
func get(t *testing.T, url, user string, greedy ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	r.Header.Set("X-User", user)
	for _, g := range greedy {
		r.Header.Set("X-Greedy", g)
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return reply{resp.StatusCode, string(body), time.Since(began)}
}

// greedy asks for more than the limit of 5 and gets 5, by the source's account.
func greedy(t *testing.T, url, who, source string) {
	t.Helper()
	for i := range 8 {
		got := ask(t, url, "ann", who)
		if i < 5 && (got.status != 200 || got.source != source) || i >= 5 && got.status != http.StatusTooManyRequests {
			t.Errorf("%s, request %d: %d by %q", who, i+1, got.status, got.source)
		}
	}
}

// load is users asking all the time, and one who asks where there is no limiter: how slow this
// machine is at the moment by itself.
type load struct {
	quit    chan struct{}
	once    sync.Once
	workers sync.WaitGroup
	noise   time.Duration

	mu                              sync.Mutex
	requests, local, shared, waited int
	slowest                         time.Duration
}

func start(t *testing.T, url string) *load {
	l := &load{quit: make(chan struct{})}
	for i := range 4 {
		l.workers.Go(func() {
			for l.pause() {
				l.note(t, ask(t, url, fmt.Sprintf("user-%d", i)))
			}
		})
	}
	l.workers.Go(func() {
		for l.pause() {
			l.noise = max(l.noise, get(t, url+"/plain", "").took)
		}
	})
	return l
}

// pause reports whether to go on.
func (l *load) pause() bool {
	select {
	case <-l.quit:
		return false
	case <-time.After(2 * time.Millisecond):
		return true
	}
}

func (l *load) note(t *testing.T, r reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.slowest = max(l.slowest, r.took)
	if r.took > waits {
		l.waited++
	}
	switch {
	case r.status != 200:
		t.Errorf("an answer was %d", r.status)
	case r.source == "local":
		l.local++
	case r.source == "shared":
		l.shared++
	default:
		t.Errorf("a decision was from %q", r.source)
	}
}

func (l *load) stop() *load {
	l.once.Do(func() { close(l.quit) })
	l.workers.Wait()
	return l
}
