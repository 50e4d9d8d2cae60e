// Package floodguard is a front stage to a level for floods of millions of keys: a Count-Min sketch
// in this process, of fixed memory, which knows of most keys that they have asked for too little to
// be near a limit. Their check, and their bucket, is then spared.
//
//	guard, err := floodguard.New(floodguard.WithThreshold(30), floodguard.WithWindow(time.Minute))
//	level := core.PerIP(core.PerMinute(300))
//	level.Guard = guard
//
// An estimate is never below what a key has asked for within the window. It may be above, by no more
// than epsilon times all that was asked for, but for a share delta of the keys; what is estimated
// too high is checked exactly, so that a sketch which is too small costs time and refuses nobody.
package floodguard

import (
	"hash/maphash"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// sketches is how many there are: the one that is counted in, the one before it, and one that is
// being emptied to come next.
const sketches = 3

// Guard is a core.Guard. It is safe for concurrent use and takes no lock. It needs no Close: of its
// own it runs nothing but, for milliseconds when a time slice ends, a goroutine that empties the
// oldest sketch.
type Guard struct {
	set     countmin.Settings
	shape   countmin.Shape
	length  time.Duration // of a slice
	slack   time.Duration // by which it is longer than the window
	seed    maphash.Seed
	start   time.Time
	log     *slog.Logger
	current atomic.Pointer[view]
	empty   chan *slice // those that are ready to come next
	tallies [stripes]tally
	small   atomic.Bool // and the log has been told
}

var _ core.Guard = (*Guard)(nil)

// New makes a guard and all the memory that it will ever take. WithThreshold has to be given. A
// mistake is an error that names the field.
func New(opts ...Option) (*Guard, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	g := &Guard{set: c.Settings, shape: c.shape, slack: c.Window / 64, seed: maphash.MakeSeed(), log: c.log, empty: make(chan *slice, sketches), start: time.Now()}
	g.length = c.Window + g.slack
	for range sketches {
		g.empty <- &slice{cells: make(countmin.Cells, g.shape.Cells())}
	}
	g.current.Store(&view{cur: <-g.empty, ends: g.length})
	return g, nil
}

// Admit counts cost units for key and says whether it passes, is to be checked or, where
// WithRefuseAbove was given, is refused. wait is then how long until its units are forgotten.
func (g *Guard) Admit(key string, cost int64) (verdict core.Verdict, wait time.Duration) {
	hash, units := maphash.String(g.seed, key), countmin.Units(cost)
	var p countmin.Places
	g.shape.Place(hash, &p)
	now := time.Since(g.start)
	v := g.at(now)
	verdict, e := g.judge(v, &p, hash, units)
	if n := g.tallies[hash%stripes].count(verdict); n%measureEvery == 0 {
		g.measure(v)
	}
	if verdict == core.RefuseKey {
		wait = g.wait(v, e, units, now)
	}
	return verdict, wait
}

// judge counts a request in a view and says what becomes of it.
func (g *Guard) judge(v *view, p *countmin.Places, hash uint64, units uint32) (core.Verdict, estimate) {
	v.cur.count(p, hash, units)
	e := v.estimate(p)
	if next := g.current.Load(); next != v {
		// A slice has ended meanwhile: what was read may have been emptied under the reader, and
		// what was counted too. Rather twice than not at all.
		next.cur.count(p, hash, units)
		return core.CheckKey, e
	}
	v.cur.hot.note(hash, e.cur)
	return g.set.Verdict(e.sum(), func() uint64 { return g.shape.Error(v.units()) }), e
}

// Peek says what Admit would and counts nothing.
func (g *Guard) Peek(key string, cost int64) (verdict core.Verdict, wait time.Duration) {
	hash, units := maphash.String(g.seed, key), countmin.Units(cost)
	var p countmin.Places
	g.shape.Place(hash, &p)
	now := time.Since(g.start)
	v := g.at(now)
	e := v.estimate(&p)
	e.cur += uint64(units)
	if g.current.Load() == v {
		verdict = g.set.Verdict(e.sum(), func() uint64 { return g.shape.Error(v.units() + uint64(units)) })
	}
	if verdict == core.RefuseKey {
		wait = g.wait(v, e, units, now)
	}
	return verdict, wait
}

// wait is how long until a client that asks for the same again is refused no more: until the older
// slice is forgotten, if that is enough, or both.
func (g *Guard) wait(v *view, e estimate, units uint32, now time.Duration) time.Duration {
	wait := v.ends - now
	if e.cur+uint64(units) >= uint64(g.set.RefuseAbove) { //nolint:gosec // not below 0
		wait += g.length
	}
	return max(wait, 1)
}

// Bounds tells what the guard was made with; those of a nil Guard are zero.
func (g *Guard) Bounds() core.GuardBounds {
	if g == nil {
		return core.GuardBounds{}
	}
	return core.GuardBounds{
		Threshold: g.set.Threshold, Window: g.set.Window,
		RefuseAbove: g.set.RefuseAbove, Memory: 2*g.length + g.slack,
	}
}
