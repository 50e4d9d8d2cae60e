package fallback_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// cut is a schedule: for how long all is well before some replicas lose Redis, which serves the others, for how long they
// do, and for how long all is well after it.
type cut struct{ well, down, healed time.Duration }

// What those admit that are cut off comes on top, and no more than that: they keep to their share, the others
// notice nothing, and once they are back all admit together what Redis does.
func TestReplicasThatAreCutOffAdmitTheirShareOnTop(t *testing.T) {
	c := cut{well: time.Second, down: 3 * time.Second, healed: 3500 * time.Millisecond}
	if *chaos {
		c.well, c.down, c.healed = 10*time.Second, 10*time.Second, 10*time.Second
	}
	for _, off := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d of %d", off, replicas), func(t *testing.T) {
			if !*chaos {
				t.Parallel()
			}
			c.run(t, off)
		})
	}
}

// apart starts replicas that each have a network of their own to one Redis.
func apart(t *testing.T, during time.Duration) (server *redistest.Server, ways []*redistest.Proxy, begin time.Time, reports func(*testing.T) []report) {
	server = redistest.Start(t)
	var addrs []string
	for range replicas {
		way := redistest.StartProxy(t, server.Addr())
		ways, addrs = append(ways, way), append(addrs, way.Addr())
	}
	begin = time.Now().Add(4 * time.Second) // the replicas have counted each other by then
	reports = launch(t, addrs, orders{Quota: quota, Burst: burst, Every: every, Begin: begin, Over: begin.Add(during)})
	time.Sleep(time.Until(begin))
	return server, ways, begin, reports
}

func (c cut) run(t *testing.T, off int) {
	during := c.well + c.down + c.healed
	_, ways, begin, reports := apart(t, during)
	time.Sleep(c.well)
	gone := time.Now()
	for _, way := range ways[:off] {
		way.SetMode(redistest.BlackHole)
	}
	time.Sleep(c.down)
	back := time.Now()
	for _, way := range ways[:off] {
		way.Heal()
	}
	all, lag, loose := reports(t), time.Duration(0), 1.05
	for i, r := range all {
		t.Logf("replica %d: %v", i, r)
		if r.Counted != replicas || r.CountedLast != replicas {
			t.Errorf("replica %d counted %d replicas before and %d after, want %d", i, r.Counted, r.CountedLast, replicas)
		}
		if i < off {
			lag = max(lag, r.wasCutOff(t, gone, back))
		} else {
			r.noticedNothing(t)
		}
		if raceEnabled || r.Slowest > 250*time.Millisecond {
			loose = 1.15 // a replica that gets no time to run finds out late
		}
	}
	for _, at := range []time.Time{gone, back, begin.Add(during)} {
		n, healthy := admittedBy(all, at), burst+quota*at.Sub(begin).Seconds()
		t.Logf("after %v: %d admitted, a healthy Redis would have %.0f: %.3f", at.Sub(begin).Round(time.Second), n, healthy, float64(n)/healthy)
	}
	share := float64(off) / replicas
	total, healthy, onTop := admittedBy(all, begin.Add(during)), burst+quota*during.Seconds(), share*quota*c.down.Seconds()
	t.Logf("on top: %.0f, want %.0f", float64(total)-healthy, onTop)
	// Nothing is left of the burst by then, so nobody has a part of it.
	if most := loose*healthy + share*quota*(c.down+lag).Seconds(); float64(total) > most {
		t.Errorf("%d admitted, want at most %.0f", total, most)
	}
	if least := 0.85 * (healthy + onTop); float64(total) < least {
		t.Errorf("%d admitted, want at least %.0f", total, least)
	}
	since := back.Add(2 * time.Second) // handed over
	late, rate := total-admittedBy(all, since), quota*begin.Add(during).Sub(since).Seconds()
	if float64(late) > loose*rate+quota/4 || float64(late) < 0.85*rate-quota/4 {
		t.Errorf("%d admitted after it, want %.0f", late, rate)
	}
}

// wasCutOff holds a replica to what is promised of one that reaches Redis no more, and tells how long it took to be
// back.
func (r report) wasCutOff(t *testing.T, gone, back time.Time) time.Duration {
	t.Helper()
	changes := slices.DeleteFunc(slices.Clone(r.Changes), func(c change) bool { return c.At.Before(gone) }) // of a busy machine
	n := len(changes)
	if n < 2 || n > 2 && !raceEnabled || !changes[0].Degraded || changes[n-1].Degraded {
		t.Fatalf("changes: %+v, want one out and one back", changes)
	}
	out, lag := changes[0].At, changes[n-1].At.Sub(back)
	t.Logf("degraded %v after it was cut off, back %v after it was not", out.Sub(gone).Round(time.Millisecond), lag.Round(time.Millisecond))
	most := 1500 * time.Millisecond
	if raceEnabled || r.Slowest > 250*time.Millisecond {
		most = backWithin
	}
	if lag > most {
		t.Errorf("back after %v, want %v", lag, most)
	}
	for _, m := range r.Track {
		if m.At.After(out) && m.At.Before(back) && (!m.Degraded || m.Counted != replicas || m.Share != 1.0/replicas) {
			t.Errorf("cut off: %+v, want the share of before", m)
			break
		}
	}
	return lag
}

// noticedNothing holds a replica to going on as if nothing had happened. With the race detector a machine of few
// cores is too slow for the budget at times.
func (r report) noticedNothing(t *testing.T) {
	t.Helper()
	if raceEnabled {
		return
	}
	if len(r.Changes) > 0 {
		t.Errorf("changes: %+v, want none", r.Changes)
	}
	// On a machine that stands still for long an answer is late, and nobody waits for one that has taken half the budget.
	if r.Local > 0 && (r.Slowest < budget/2 || r.Local > 20) {
		t.Errorf("%d decided locally, want none", r.Local)
	}
}

// admittedBy is how many requests were admitted until then.
func admittedBy(all []report, at time.Time) (n int) {
	for _, r := range all {
		n += r.at(at).Admitted
	}
	return n
}

// at is what a replica last noted by then.
func (r report) at(at time.Time) (m moment) {
	for _, next := range r.Track {
		if !next.At.After(at) {
			m = next
		}
	}
	return m
}
