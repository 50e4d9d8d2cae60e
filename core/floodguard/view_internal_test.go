package floodguard

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// A request that is held up while its slices end does not pass on what was emptied under it, and is
// not lost with it.
func TestHeldUpWhileSlicesEnd(t *testing.T) {
	for _, turns := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			g, err := New(WithThreshold(10))
			if err != nil {
				t.Fatal(err)
			}
			var p countmin.Places
			g.shape.Place(7, &p)
			held := g.at(0)
			for range turns {
				time.Sleep(g.length)
				synctest.Wait()
				g.at(time.Since(g.start))
			}
			synctest.Wait()
			if v, _ := g.judge(held, &p, 7, 5); v != core.CheckKey {
				t.Errorf("after %d turns: verdict %d", turns, v)
			}
			if v, e := g.judge(g.current.Load(), &p, 7, 5); v != core.CheckKey || e.cur < 10 {
				t.Errorf("after %d turns: verdict %d of the next, at %+v", turns, v, e)
			}
		})
	}
}

// Where no slice has been emptied in time the present one goes on, and what it holds is remembered
// for a window from then.
func TestNoSliceIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(WithThreshold(10))
		if err != nil {
			t.Fatal(err)
		}
		var taken []*slice
		for len(g.empty) > 0 {
			taken = append(taken, <-g.empty)
		}
		g.Admit("key", 1)
		time.Sleep(3 * g.length)
		if v, _ := g.Admit("key", 8); v != core.PassKey {
			t.Errorf("verdict %d", v)
		}
		for _, s := range taken {
			g.empty <- s
		}
		g.Admit("other", 1)
		time.Sleep(g.set.Window)
		if v, _ := g.Admit("key", 1); v != core.CheckKey {
			t.Errorf("verdict %d, want a check: 9 units came a window ago, and are remembered", v)
		}
	})
}
