package floodguard_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/floodguard"
)

// Whatever shares its counters, whenever slices end: who passes has asked for less than the
// threshold within the window. Where the sketch is large the reverse holds as well.
func TestEstimatesAreNeverBelowTheTruth(t *testing.T) {
	const threshold = 12
	for _, size := range []struct {
		name    string
		epsilon float64
		exact   bool
	}{{"tiny", 0.1, false}, {"large", 1e-4, true}} {
		t.Run(size.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := guard(t, floodguard.WithError(size.epsilon, 0.01), floodguard.WithThreshold(threshold), floodguard.WithWindow(10*time.Second))
				b := g.Bounds()
				random := rand.New(rand.NewPCG(1, 2))
				all := map[string][]asked{}
				passed, checked := 0, 0
				for range 40_000 {
					switch random.IntN(400) {
					case 0:
						time.Sleep(time.Duration(random.Int64N(int64(25 * time.Second))))
					default:
						time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
					}
					synctest.Wait()
					key, units := fmt.Sprint(int(random.ExpFloat64()*40)), 1+random.Int64N(3)
					peeked, _ := g.Peek(key, units)
					all[key] = append(all[key], asked{time.Now(), units})
					v := verdict(g, key, units)
					if v != peeked {
						t.Fatalf("Peek says %d, Admit %d", peeked, v)
					}
					switch truth := within(all[key], b.Window); v {
					case core.PassKey:
						passed++
						if truth >= threshold {
							t.Fatalf("passed with %d units asked for", truth)
						}
					case core.CheckKey:
						checked++
						if remembered := within(all[key], b.Memory); size.exact && remembered < threshold {
							t.Fatalf("checked with %d units asked for in all that is remembered", remembered)
						}
					default:
						t.Fatalf("verdict %d: nobody asked for refusals", v)
					}
				}
				if checked == 0 || size.exact && passed == 0 {
					t.Errorf("%d passed, %d checked", passed, checked)
				}
			})
		})
	}
}

// Of requests at the same time no more pass than if they came one by one, also while slices end
// all the time.
func TestTogetherNoMorePass(t *testing.T) {
	for _, window := range []time.Duration{time.Hour, 10 * time.Millisecond} {
		g := guard(t, floodguard.WithThreshold(100), floodguard.WithWindow(window))
		var mu sync.Mutex
		type pass struct{ from, to time.Time } // it was counted somewhere in between
		var passes []pass
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 2000 {
					before := time.Now()
					if verdict(g, "key", 1) == core.PassKey {
						mu.Lock()
						passes = append(passes, pass{before, time.Now()})
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		if len(passes) == 0 {
			t.Error("nobody passed")
		}
		slices.SortFunc(passes, func(a, b pass) int { return a.to.Compare(b.to) })
		for i := 0; i+100 <= len(passes); i++ {
			first := slices.MinFunc(passes[i:i+100], func(a, b pass) int { return a.from.Compare(b.from) })
			if d := passes[i+99].to.Sub(first.from); d < window {
				t.Errorf("100 passed within %v", d)
			}
		}
		if window == time.Hour && (len(passes) > 99 || len(passes) < 80) {
			t.Errorf("%d passed, want 99, or less where several came at once", len(passes))
		}
	}
}

// What is counted while a slice ends is not lost with the slice that it was counted in.
func TestNothingIsLostWhenASliceEnds(t *testing.T) {
	const window = 20 * time.Millisecond
	g := guard(t, floodguard.WithThreshold(50), floodguard.WithWindow(window), floodguard.WithError(0.1, 0.5))
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				verdict(g, "busy", 1)
			}
		})
	}
	time.Sleep(window)
	// One key of its own rate: asked 60 times within a window, it is checked in the end.
	for range 20 {
		start, last := time.Now(), core.PassKey
		for range 60 {
			last = verdict(g, "own", 1)
		}
		if last == core.PassKey && time.Since(start) < window {
			t.Error("passed after 60 requests within the window")
		}
	}
	stop.Store(true)
	wg.Wait()
}

func TestCountersStopWhereTheyAreFull(t *testing.T) {
	g := guard(t, floodguard.WithThreshold(1<<32-1), floodguard.WithWindow(time.Hour))
	for _, row := range []struct {
		key  string
		cost int64
		want core.Verdict
	}{
		{"a", 1<<32 - 2, core.PassKey},
		{"a", 1, core.CheckKey},
		{"a", 1, core.CheckKey},
		{"a", 1 << 40, core.CheckKey},
		{"b", 1<<32 + 5, core.CheckKey},
		{"b", 1, core.CheckKey},
		{"c", 1<<31 + 1, core.PassKey},
		{"c", 1<<31 + 1, core.CheckKey},
	} {
		if got := verdict(g, row.key, row.cost); got != row.want {
			t.Errorf("%+v: verdict %d", row, got)
		}
	}
}
