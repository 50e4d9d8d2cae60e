package main

import (
	"net/http"
	"slices"
	"time"
)

// tally counts answers.
type tally struct {
	busySent, busyAdmitted int
	calmSent, calmAdmitted int
	refused, failed        int // 429, and 5xx or no answer
	sources                map[string]int
	took                   []time.Duration
	slowest                time.Duration // decision
	late                   time.Duration // the most
}

func (t *tally) add(a answer) {
	admitted := 0
	switch a.status {
	case http.StatusOK:
		admitted = 1
	case http.StatusTooManyRequests:
		t.refused++
	default:
		t.failed++
	}
	if a.busy {
		t.busySent++
		t.busyAdmitted += admitted
	} else {
		t.calmSent++
		t.calmAdmitted += admitted
	}
	if t.sources == nil {
		t.sources = map[string]int{}
	}
	t.sources[a.source]++
	t.took = append(t.took, a.took)
	t.slowest, t.late = max(t.slowest, a.decided), max(t.late, a.late)
}

// latency is the time within which the given part of the answers came, in milliseconds.
func (t *tally) latency(part float64) float64 {
	if len(t.took) == 0 {
		return 0
	}
	slices.Sort(t.took)
	return milliseconds(t.took[int(part*float64(len(t.took)-1))])
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
