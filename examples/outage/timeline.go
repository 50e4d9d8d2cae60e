package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// timeline gathers what the clients saw and what happened, and prints it, a line a second.
type timeline struct {
	out   io.Writer
	limit int64
	begun time.Time

	mu            sync.Mutex
	second, total tally
	ideal         int // of the lines so far
	history       history
}

func newTimeline(out io.Writer, o options) *timeline { return &timeline{out: out, limit: o.limit} }

func (t *timeline) begin() { t.begun = time.Now() }

func (t *timeline) add(a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.second.add(a)
	t.total.add(a)
}

func (t *timeline) note(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.note(what, time.Since(t.begun))
}

// away is how many replicas decide locally.
func (t *timeline) away() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.history.away
}

// idealAt is what one Redis that never fails would have admitted of the busy client: a full bucket
// and what refills it, or all requests if they are fewer.
func (t *timeline) idealAt(at time.Time) int {
	return min(t.total.busySent, int(float64(t.limit)*(1+at.Sub(t.begun).Seconds())))
}

// print prints until ctx ends.
func (t *timeline) print(ctx context.Context) {
	fmt.Fprintln(t.out, "         busy client        calm         all       decided by             ms")
	fmt.Fprintln(t.out, "  time   sent   ok ideal   sent   ok   429  5xx   shared local cache    p50   p99   max   what happened")
	for line := 1; pause(ctx, time.Until(t.begun.Add(time.Duration(line)*time.Second))) == nil; line++ {
		t.line(time.Now())
	}
}

func (t *timeline) line(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ideal := &t.second, t.idealAt(now)
	fmt.Fprintf(t.out, "%5.1fs  %5d%5d%6d  %5d%5d %5d%5d  %7d%6d%6d  %5.1f %5.1f %5.1f   %s\n",
		now.Sub(t.begun).Seconds(), s.busySent, s.busyAdmitted, ideal-t.ideal, s.calmSent, s.calmAdmitted, s.refused, s.failed,
		s.sources[core.FromShared.String()], s.sources[core.FromLocal.String()], s.sources[core.FromCache.String()],
		s.latency(0.5), s.latency(0.99), s.latency(1), t.history.news())
	t.second, t.ideal = tally{}, ideal
}
