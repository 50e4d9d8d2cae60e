package fallback_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A replica that is cut off for long is not counted any more, while it goes by what it has counted. What all shares
// come to when Redis then fails for the others, too, is told in docs/failure.md.
func TestSharesAfterReplicasWereCutOff(t *testing.T) {
	if !*chaos {
		t.Skip("minutes: -chaos")
	}
	const apart = 10 * time.Second // the others have counted again by then
	for name, c := range map[string]struct {
		off    []int // how many at once, and then again
		shares float64
	}{
		"one":            {[]int{1}, 1 + 1.0/4},
		"three at once":  {[]int{3}, 1 + 3.0/4},
		"three in a row": {[]int{1, 1, 1}, 1.0/4 + 1.0/3 + 1.0/2 + 1},
	} {
		t.Run(name, func(t *testing.T) { sharesAfter(t, c.off, apart, c.shares) })
	}
}

func sharesAfter(t *testing.T, off []int, every time.Duration, want float64) {
	const down, healed = 6 * time.Second, 12 * time.Second
	during := time.Duration(len(off))*every + down + healed
	server, ways, begin, reports := apart(t, during)
	cut := 0
	for _, n := range off {
		for _, way := range ways[cut : cut+n] {
			way.SetMode(redistest.BlackHole)
		}
		cut += n
		time.Sleep(every)
	}
	server.Kill()
	from := time.Now().Add(time.Second) // all have noticed
	time.Sleep(down)
	to := time.Now()
	server.Restart()
	for _, way := range ways[:cut] {
		way.Heal()
	}
	all, shares := reports(t), 0.0
	for i, r := range all {
		m := r.at(to)
		t.Logf("replica %d: %v; share %.3f of %d replicas, degraded %v", i, r, m.Share, m.Counted, m.Degraded)
		shares += m.Share
		r.tellCounts(t)
		if !m.Degraded || r.CountedLast != replicas {
			t.Errorf("replica %d: %+v, and %d replicas in the end, want %d", i, m, r.CountedLast, replicas)
		}
	}
	n, ideal := admittedBy(all, to)-admittedBy(all, from), quota*to.Sub(from).Seconds()
	t.Logf("shares of %.3f in all; %d admitted while Redis was killed, a healthy one would have %.0f: %.3f", shares, n, ideal, float64(n)/ideal)
	if shares < want-0.01 || shares > want+0.01 {
		t.Errorf("shares of %.3f in all, want %.3f", shares, want)
	}
	if most := 1.05 * want * ideal; float64(n) > most {
		t.Errorf("%d admitted, want at most %.0f", n, most)
	}
	n, ideal = admittedBy(all, begin.Add(during))-admittedBy(all, to.Add(3*time.Second)), quota*(healed-3*time.Second).Seconds()
	t.Logf("%d admitted after it, a healthy Redis would have %.0f", n, ideal)
	if float64(n) > 1.05*ideal {
		t.Errorf("%d admitted after it, want at most %.0f", n, 1.05*ideal)
	}
}

// tellCounts tells when a replica counted how many.
func (r report) tellCounts(t *testing.T) {
	t.Helper()
	last := 0
	for _, m := range r.Track {
		if m.Counted != last {
			t.Logf("counted %d after %v", m.Counted, m.At.Sub(r.Track[0].At).Round(trackEvery))
			last = m.Counted
		}
	}
}
