package fallback_test

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

var chaos = flag.Bool("chaos", false, "outages of full length: minutes")

// outage is a schedule: how often Redis goes away, for how long, and how long it is well before, between
// and after.
type outage struct {
	flaps      int
	down, well time.Duration
}

// The limit of every overshoot test, and the greedy client's rate at each replica: together eight times
// what the limit admits.
const (
	quota    = 100
	burst    = 200
	replicas = 4
	every    = 5 * time.Millisecond
)

// An outage admits what a healthy Redis would have: no more, whatever Redis has forgotten, and not
// much less. Between the flaps of the short schedule there is more time than a replica keeps to its share for.
func TestAnOutageMultipliesNothing(t *testing.T) {
	schedules := map[string]outage{"one outage": {1, 3 * time.Second, 2 * time.Second}, "flaps": {2, time.Second, 2 * time.Second}}
	if *chaos {
		schedules = map[string]outage{"one outage": {1, 10 * time.Second, 10 * time.Second}, "flaps": {10, time.Second, time.Second}, "slow flaps": {10, time.Second, 3 * time.Second}}
	}
	for name, o := range schedules {
		t.Run(name, func(t *testing.T) {
			for _, fault := range []string{"killed", "stopped"} {
				t.Run(fault, func(t *testing.T) {
					if !*chaos {
						t.Parallel()
					}
					o.run(t, fault)
				})
			}
		})
	}
}

func (o outage) run(t *testing.T, fault string) {
	server := redistest.Start(t)
	during := time.Duration(o.flaps)*(o.down+o.well) + o.well
	begin := time.Now().Add(4 * time.Second) // the replicas have counted each other by then
	reports := launch(t, slices.Repeat([]string{server.Addr()}, replicas), orders{Quota: quota, Burst: burst, Every: every, Begin: begin, Over: begin.Add(during)})
	time.Sleep(time.Until(begin))
	for range o.flaps {
		time.Sleep(o.well)
		faults[fault].hit(server, nil)
		time.Sleep(o.down)
		faults[fault].heal(server, nil)
	}
	admitted, slowest := 0, time.Duration(0)
	for i, r := range reports(t) {
		t.Logf("replica %d: %v", i, r)
		admitted += r.Admitted
		slowest = max(slowest, r.Slowest)
		if r.Counted != replicas || r.CountedLast != replicas {
			t.Errorf("replica %d counted %d replicas before and %d after, want %d", i, r.Counted, r.CountedLast, replicas)
		}
	}
	healthy := burst + quota*during.Seconds()
	t.Logf("admitted %d, a healthy Redis would have %.0f: %.3f; the slowest decision took %v", admitted, healthy, float64(admitted)/healthy, slowest)
	over := 1.05
	if raceEnabled || slowest > 250*time.Millisecond {
		over = 1.15 // a replica that gets no time to run finds out late
	}
	if most := over * healthy; float64(admitted) > most {
		t.Errorf("%d admitted, want at most %.0f", admitted, most)
	}
	if least := 0.85 * healthy; float64(admitted) < least {
		t.Errorf("%d admitted, want at least %.0f", admitted, least)
	}
}
