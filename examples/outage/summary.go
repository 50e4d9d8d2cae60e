package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// summary ends the timeline. It fails if a request did, or if a replica does not ask Redis again.
func (t *timeline) summary() error {
	now := time.Now()
	t.line(now)
	t.mu.Lock()
	defer t.mu.Unlock()
	all, ideal := &t.total, t.idealAt(now)
	fmt.Fprintf(t.out, "\nbusy client   %d of %d admitted, ideal %d (%d at once and %d/s): %+d, %+.1f %%\n",
		all.busyAdmitted, all.busySent, ideal, t.limit, t.limit, all.busyAdmitted-ideal, 100*(float64(all.busyAdmitted)/float64(max(1, ideal))-1))
	fmt.Fprintf(t.out, "calm clients  %d of %d admitted\n", all.calmAdmitted, all.calmSent)
	fmt.Fprintf(t.out, "decided       %d shared, %d local, %d from the cache of refusals; slowest decision %.1f ms, this machine's own delays up to %.1f ms\n",
		all.sources[core.FromShared.String()], all.sources[core.FromLocal.String()], all.sources[core.FromCache.String()], milliseconds(all.slowest), milliseconds(all.late))
	fmt.Fprintf(t.out, "answers       %d with 429, %d with 5xx or none; slowest %.1f ms\n", all.refused, all.failed, all.latency(1))
	for _, o := range t.history.outages {
		fmt.Fprintf(t.out, "%-13s %v\n", o.fault, o)
	}
	var errs []error
	if all.failed > 0 {
		errs = append(errs, fmt.Errorf("%d requests got a 5xx or no answer, want none", all.failed))
	}
	if t.history.away > 0 {
		errs = append(errs, fmt.Errorf("%d replicas still decide locally, want none", t.history.away))
	}
	return errors.Join(errs...)
}
