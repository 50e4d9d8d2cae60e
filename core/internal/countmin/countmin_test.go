package countmin_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		width, rows    uint32
	}{{1e-4, 0.01, 27183, 5}, {0.1, 0.5, 28, 1}, {1e-6, 1e-6, 2718282, 14}} {
		s, err := countmin.ShapeFor(c.epsilon, c.delta)
		if err != nil || s.Width != c.width || s.Rows != c.rows {
			t.Errorf("%v, %v: %+v, %v", c.epsilon, c.delta, s, err)
		}
		if by, most := s.Error(1e6), c.epsilon*1e6+1; float64(by) > most || by < 1 {
			t.Errorf("%v: errs by %d, want at most %v", c.epsilon, by, most)
		}
	}
	if _, err := countmin.ShapeFor(1e-7, 1e-6); err == nil || !strings.Contains(err.Error(), "counters") {
		t.Errorf("380 million counters: %v", err)
	}
}

// Each row gives a key one counter of its own part, and any two keys share few.
func TestPlaces(t *testing.T) {
	s := countmin.Shape{Width: 1000, Rows: 14}
	used := make([]int, s.Cells())
	random := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		var p countmin.Places
		s.Place(random.Uint64(), &p)
		if len(p.All()) != 14 {
			t.Fatalf("%d places", len(p.All()))
		}
		for row, at := range p.All() {
			if at/1000 != uint32(row) {
				t.Fatalf("row %d: place %d", row, at)
			}
			used[at]++
		}
	}
	for at, n := range used {
		if n < 40 || n > 170 {
			t.Errorf("%d of 100000 keys are at %d, want about 100", n, at)
		}
	}
}

// The bound is kept: at most a share delta of the keys is estimated too high by more.
func TestErrorBound(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{0.01, 0.5}, {0.001, 0.1}, {0.0003, 0.01}} {
		s, err := countmin.ShapeFor(c.epsilon, c.delta)
		if err != nil {
			t.Fatal(err)
		}
		cells, random := make(countmin.Cells, s.Cells()), rand.New(rand.NewPCG(2, 2))
		truth, total := make([]uint32, 20_000), uint64(0)
		for range 200_000 {
			key := min(int(random.ExpFloat64()*4000), len(truth)-1)
			var p countmin.Places
			s.Place(hash(key), &p)
			cells.Add(&p, 1)
			truth[key]++
			total++
		}
		beyond := 0
		for key, n := range truth {
			var p countmin.Places
			s.Place(hash(key), &p)
			e := cells.Estimate(&p)
			if e < n {
				t.Fatalf("key %d: estimated %d, is %d", key, e, n)
			}
			if uint64(e-n) > s.Error(total) {
				beyond++
			}
		}
		if share := float64(beyond) / float64(len(truth)); share > c.delta {
			t.Errorf("%+v: %v of the keys are beyond the bound", c, share)
		}
	}
}

func hash(key int) uint64 { return rand.New(rand.NewPCG(uint64(key), 9)).Uint64() }

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		refuse          int64
		estimate, bound uint64
		want            core.Verdict
	}{
		{0, 9, 1000, core.PassKey},
		{0, 10, 0, core.CheckKey},
		{0, 1 << 40, 0, core.CheckKey},
		{100, 9, 0, core.PassKey},
		{100, 99, 0, core.CheckKey},
		{100, 100, 0, core.RefuseKey},
		{100, 149, 50, core.CheckKey},
		{100, 150, 50, core.RefuseKey},
		{100, 199, 99, core.RefuseKey},
		{100, 1 << 40, 100, core.CheckKey},
		{100, 1 << 40, 1 << 30, core.CheckKey},
	} {
		s := countmin.Settings{Threshold: 10, Window: time.Minute, RefuseAbove: c.refuse}
		if got := s.Verdict(c.estimate, func() uint64 { return c.bound }); got != c.want {
			t.Errorf("%+v: verdict %d", c, got)
		}
	}
}
