package floodguard

import (
	"sync/atomic"
	"unsafe"

	"github.com/tierlimit/tierlimit/core"
)

// measureEvery is after how many requests of one stripe the sketch's error is looked at.
const measureEvery = 1024

// tally counts requests by verdict, since New.
type tally struct {
	by [3]atomic.Uint64
	_  [40]byte
}

func (t *tally) count(v core.Verdict) uint64 { return t.by[v].Add(1) }

// Stats is what a guard holds and has done.
type Stats struct {
	Memory   int    // bytes; it never changes
	Width    int    // counters in a row
	Rows     int    // of each sketch; there are three
	Units    uint64 // asked for within what the guard remembers
	Error    uint64 // units that an estimate may be too high by now, but for a share delta of the keys
	TooSmall bool   // Error has reached the threshold: keys that ask for little are checked as well

	Passed, Checked, Refused uint64 // requests since New
}

// Stats reads the counters.
func (g *Guard) Stats() Stats {
	units := g.current.Load().units()
	st := Stats{
		Memory: sketches*(4*g.shape.Cells()+int(unsafe.Sizeof(slice{}))) + int(unsafe.Sizeof(*g)),
		Width:  int(g.shape.Width), Rows: int(g.shape.Rows), Units: units, Error: g.shape.Error(units),
	}
	st.TooSmall = g.tooSmall(st.Error)
	for i := range g.tallies {
		by := &g.tallies[i].by
		st.Passed += by[core.PassKey].Load()
		st.Checked += by[core.CheckKey].Load()
		st.Refused += by[core.RefuseKey].Load()
	}
	return st
}

func (g *Guard) tooSmall(err uint64) bool { return err >= uint64(g.set.Threshold) } //nolint:gosec // above 0

// measure tells the log when the sketch has become too small.
func (g *Guard) measure(v *view) {
	if err := g.shape.Error(v.units()); g.tooSmall(err) && g.small.CompareAndSwap(false, true) {
		g.log.Warn("tierlimit: flood guard is too small for the load, keys that ask for little are checked as well: lower its epsilon, or shorten its window",
			"units", v.units(), "error", err, "threshold", g.set.Threshold, "width", g.shape.Width)
	}
}

// relieve tells the log, at the end of a slice, when it is large enough again: the two slices are
// then the fullest.
func (g *Guard) relieve(v *view) {
	if !g.small.Load() {
		return
	}
	if err := g.shape.Error(v.units()); !g.tooSmall(err) && g.small.CompareAndSwap(true, false) {
		g.log.Info("tierlimit: flood guard is large enough for the load again", "units", v.units(), "error", err, "threshold", g.set.Threshold)
	}
}
