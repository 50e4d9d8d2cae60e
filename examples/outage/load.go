package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const calmClients = 4

// calm is how many requests a second a calm client makes.
func (o options) calm() float64 { return float64(o.limit) / 10 }

// answer is what a client saw of one request.
type answer struct {
	busy    bool
	status  int // 0: no answer came
	source  string
	took    time.Duration // at the client
	decided time.Duration // of that, the decision in the replica
	late    time.Duration // it was sent so much too late: what the machine alone adds to a wait
}

// load sends requests at fixed times, however long the answers take, to one replica after the other.
type load struct {
	urls    []string
	client  *http.Client
	report  func(answer)
	clients sync.WaitGroup
}

// startLoad sends until ctx ends.
func startLoad(ctx context.Context, urls []string, o options, report func(answer)) *load {
	l := &load{
		urls: urls, report: report,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: 5 * time.Second},
	}
	l.clients.Go(func() { l.keepAsking(ctx, "busy", o.rate) })
	for i := range calmClients {
		l.clients.Go(func() { l.keepAsking(ctx, fmt.Sprint("calm", i), o.calm()) })
	}
	return l
}

// wait returns when every request has its answer.
func (l *load) wait() { l.clients.Wait() }

func (l *load) keepAsking(ctx context.Context, user string, perSecond float64) {
	var requests sync.WaitGroup
	defer requests.Wait()
	begun := time.Now()
	for i := 0; ; i++ {
		at := begun.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		if pause(ctx, time.Until(at)) != nil {
			return
		}
		late := time.Since(at)
		requests.Go(func() {
			a := l.ask(l.urls[i%len(l.urls)], user)
			a.late = late
			l.report(a)
		})
	}
}

// ask does not end with the load: a request that is under way gets its answer.
func (l *load) ask(url, user string) answer {
	a := answer{busy: user == "busy"}
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return a
	}
	req.Header.Set("X-User", user)
	begun := time.Now()
	resp, err := l.client.Do(req)
	a.took = time.Since(begun)
	if err != nil {
		return a
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	_ = resp.Body.Close()
	a.status, a.source = resp.StatusCode, resp.Header.Get(decidedBy)
	a.decided, _ = time.ParseDuration(resp.Header.Get(decidedIn))
	return a
}
