package main

import (
	"fmt"
	"strings"
	"time"
)

// What happens, beside the faults.
const (
	restored = "Redis restored"
	local    = "local"
	shared   = "shared again"
)

// history is what happened to Redis and to the replicas, by the time since the load began.
type history struct {
	events  []event
	shown   int // events that news has told of
	away    int // replicas that decide locally
	outages []outage
}

type event struct {
	what string
	at   time.Duration
}

func (h *history) note(what string, at time.Duration) {
	h.events = append(h.events, event{what, at})
	switch what {
	case local:
		h.away++
	case shared:
		h.away--
	case restored:
	default:
		h.outages = append(h.outages, outage{fault: what, hit: at})
	}
	if n := len(h.outages); n > 0 {
		h.outages[n-1].follow(what, at, h.away)
	}
}

// news names the events since it was last asked. What several replicas do is told once, by the last.
func (h *history) news() string {
	var told []string
	for times := 1; h.shown < len(h.events); h.shown++ {
		e := h.events[h.shown]
		if h.shown+1 < len(h.events) && h.events[h.shown+1].what == e.what {
			times++
			continue
		}
		what := e.what
		if what == local || what == shared {
			what = fmt.Sprint(times, " ", what)
		}
		told, times = append(told, fmt.Sprintf("%.2fs %s", e.at.Seconds(), what)), 1
	}
	return strings.Join(told, ", ")
}

// outage is one fault and what followed from it.
type outage struct {
	fault               string
	hit, healed, shared time.Duration // 0: not yet
	local               time.Duration // when the last replica went
	most                int           // replicas that decided locally
}

func (o *outage) follow(what string, at time.Duration, away int) {
	if what == restored {
		o.healed = at
	}
	if o.healed == 0 && away > o.most {
		o.local, o.most = at, away
	}
	if o.healed > 0 && away == 0 && o.shared == 0 {
		o.shared = at
	}
}

func (o outage) String() string {
	s := fmt.Sprintf("%d of %d replicas decided locally after %d ms", o.most, replicas, (o.local - o.hit).Milliseconds())
	if o.most == 0 {
		s = "no replica decided locally"
	}
	if o.shared > o.healed {
		s += fmt.Sprintf(", all shared again %d ms after Redis was restored", (o.shared - o.healed).Milliseconds())
	}
	return s
}
