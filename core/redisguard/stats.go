package redisguard

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tierlimit/tierlimit/core"
)

// tally counts requests by verdict, since New.
type tally struct {
	by [3]atomic.Uint64
	_  [40]byte
}

// Stats is what a guard holds and has done.
type Stats struct {
	Memory      int           // bytes in this process; it never changes
	RedisMemory int           // bytes of one time slice in Redis; there are up to three
	Width       int           // counters in a row
	Rows        int           // of each slice
	Units       uint64        // asked for within what the guard remembers, of all replicas as far as known
	Error       uint64        // units that an estimate may be too high by now, but for a share delta of the keys
	TooSmall    bool          // Error has reached the threshold: keys that ask for little are checked as well
	Connected   bool          // the last exchange is young enough to go by; else every key is checked
	Exchanged   time.Duration // since the last exchange; 0 if there was none
	LastError   error         // of the last exchange; nil if it was good

	Passed, Checked, Refused uint64 // requests here since New
}

// Stats reads the counters.
func (g *Guard) Stats() Stats {
	v := g.current.Load()
	cells := g.shape.Cells()
	st := Stats{
		Memory:      mirrors*(8*cells+4*(cells+block-1)/block+int(unsafe.Sizeof(mirror{}))) + int(unsafe.Sizeof(*g)),
		RedisMemory: g.bytes(), Width: int(g.shape.Width), Rows: int(g.shape.Rows), Units: v.units(),
	}
	st.Error = g.shape.Error(st.Units)
	st.TooSmall = g.tooSmall(st.Error)
	if at := g.contact.Load(); at != 0 {
		st.Exchanged = g.now().Sub(g.start) - time.Duration(at)
		st.Connected = st.Exchanged <= g.stale
	}
	if err := g.fault.Load(); err != nil {
		st.LastError = *err
	}
	for i := range g.tallies {
		by := &g.tallies[i].by
		st.Passed += by[core.PassKey].Load()
		st.Checked += by[core.CheckKey].Load()
		st.Refused += by[core.RefuseKey].Load()
	}
	return st
}

func (g *Guard) tooSmall(err uint64) bool { return err >= uint64(g.set.Threshold) } //nolint:gosec // above 0

// report tells the log of a change for the worse or the better.
func (g *Guard) report(err error) {
	switch before := g.fault.Load(); {
	case err == nil && before != nil:
		g.fault.Store(nil)
		g.log.Info("tierlimit: shared flood guard has Redis again")
	case err != nil && before == nil:
		g.fault.Store(&err)
		g.log.Warn("tierlimit: shared flood guard has no answer of Redis, every key is checked from a second on", "error", err)
	case err != nil:
		g.fault.Store(&err)
	}
}

// measure tells the log when the sketch becomes too small, and when it has been large enough by half:
// its load falls by nearly half each time that a slice ends.
func (g *Guard) measure() {
	err := g.shape.Error(g.current.Load().units())
	switch {
	case g.tooSmall(err) && !g.small:
		g.small = true
		g.log.Warn("tierlimit: flood guard is too small for the load, keys that ask for little are checked as well: lower its epsilon, or shorten its window",
			"error", err, "threshold", g.set.Threshold, "width", g.shape.Width)
	case g.small && !g.tooSmall(3*err):
		g.small = false
		g.log.Info("tierlimit: flood guard is large enough for the load again", "error", err, "threshold", g.set.Threshold)
	}
}
