package faultmatrix_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

var (
	page = flag.String("matrix", "", "run all cells, and write the table into this page: some 5 minutes")
	seed = flag.Uint64("seed", 0, "of the cells that a short run picks; 0: another one each time")
)

// tries is how often a cell is run at most where the machine stalls.
const tries = 3

func TestMain(m *testing.M) {
	logging.Disable() // go-redis tells of each dial that these tests make fail
	goleak.VerifyTestMain(m, redistest.ClientLeftovers()...)
}

// A short run takes some cells only, others each time.
func TestMatrix(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("cells of -seed %d", *seed)
	found := &table{}
	t.Run("cells", func(t *testing.T) {
		for i, chain := range [][]topology{{single, sentinel}, {cluster}} { // two at a time
			t.Run("", func(t *testing.T) {
				t.Parallel()
				chance := rand.New(rand.NewPCG(*seed, uint64(i)))
				for _, at := range chain {
					t.Run(string(at), func(t *testing.T) { found.fill(t, cells(at, chance)) })
				}
			})
		}
	})
	if *page != "" {
		found.write(t, *page)
	}
}

// cells are those of a topology: all, or a few.
func cells(at topology, chance *rand.Rand) (list []cell) {
	for _, f := range faults {
		for _, s := range setups {
			if !f.no[at] {
				list = append(list, cell{f, at, s})
			}
		}
	}
	if *page != "" {
		return list
	}
	chance.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:2]
}

func (f *table) fill(t *testing.T, list []cell) {
	g := staying(t, list[0].at)
	for _, c := range list {
		t.Run(c.fault.name+"/"+c.setup.name, func(t *testing.T) { f.add(c, c.hold(t, g)) })
	}
}

// hold holds a cell to what is promised.
func (c cell) hold(t *testing.T, g *group) (r result) {
	for try := 1; ; try++ {
		t.Run("", func(t *testing.T) { r = c.run(t, g) })
		if t.Failed() {
			t.FailNow()
		}
		t.Logf("slowest %v (%v with the machine's stalls, the longest %v), %d of %d waited, back after %v; outage %v, %d local, %d others",
			r.slowest, r.raw, r.stall, r.waited, r.requests, r.back, r.outage, r.local, r.others)
		if len(r.late) == 0 || r.stall <= tooLong || try == tries {
			break
		}
		t.Logf("again, as the machine stalled: %v", r.late)
	}
	for _, b := range r.broken {
		t.Error(b)
	}
	for _, b := range r.late {
		if r.stall > tooLong && *page == "" {
			t.Logf("not held against a machine that stalled for %v: %s", r.stall, b)
		} else {
			t.Error(b)
		}
	}
	return r
}
