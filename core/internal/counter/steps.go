package counter

import (
	"github.com/tierlimit/tierlimit/core"
)

// steps is a token bucket that gets step units at once, at every multiple of interval since the
// epoch. Its clock goes in units: by each step so many more have come back since the epoch, and At
// is that number at which the bucket is full.
type steps struct {
	burst, step, spent int64
	interval           int64 // microseconds
}

func newSteps(l core.Limit) Counter {
	return steps{burst: l.Capacity(), step: l.Step(), spent: l.Capacity() - l.Start(), interval: micros(int64(l.Interval()))}
}

// clock is how many steps there have been.
func (b steps) clock(now int64) int64 { return micros(now) / b.interval }

func (b steps) debt(s *State, now int64) int64 { return max(s.At-b.clock(now)*b.step, 0) }

func (b steps) Roll(s *State, now int64) (stale bool) {
	stale = b.begin(s, now)
	if most := b.clock(now)*b.step + b.burst; s.At > most {
		s.At, stale = most, true
	}
	return stale
}

// begin is Roll without forgiving.
func (b steps) begin(s *State, now int64) (stale bool) {
	units := b.clock(now) * b.step
	if !s.Known || (b.spent > 0 && micros(now) >= b.over(s)) {
		s.At, s.Known = units+b.spent, true
		return b.spent > 0
	}
	s.At = max(s.At, units)
	return false
}

func (b steps) Look(s *State, now, cost int64) View {
	debt := b.debt(s, now)
	v := View{Admits: cost <= b.burst-debt, Remaining: max(b.burst-debt, 0)}
	if debt > 0 {
		v.Next = until(now, (b.clock(now)+1)*b.interval)
	}
	if !v.Admits && cost <= b.burst {
		v.Wait = until(now, b.when(b.clock(now)+b.in(debt+cost-b.burst)))
	}
	return v
}

// when is the instant of a step, saturating.
func (b steps) when(step int64) int64 { return min(step, (1<<62)/b.interval) * b.interval }

// in is how many steps bring so many units.
func (b steps) in(units int64) int64 { return (units + b.step - 1) / b.step }

func (b steps) Charge(s *State, _, cost int64) core.Receipt {
	s.At += cost
	return core.Receipt{s.At}
}

func (b steps) Debit(s *State, now, cost int64) {
	b.begin(s, now)
	s.At += min(cost, max(b.burst-b.debt(s, now), 0))
}

func (b steps) Refund(s *State, now, cost int64, r core.Receipt) {
	b.begin(s, now)
	units := b.clock(now) * b.step
	s.At = max(s.At-min(cost, max(r[0]-units, 0)), units)
}

func (b steps) Reset(s *State, now int64) { s.At, s.Known = b.clock(now)*b.step, true }

func (b steps) Spell(cost int64) (letter string, numbers []int64) {
	return "s", []int64{cost, b.burst, b.step, b.spent, b.interval}
}

func (steps) SpellReceipt(r core.Receipt) [2]int64 { return r }

// Told reads the debt.
func (b steps) Told(now int64, numbers []int64) (s State, rest []int64, ok bool) {
	got, rest, ok := told(numbers, 1)
	if ok {
		s = State{Known: true, At: b.clock(now)*b.step + got[0]}
	}
	return s, rest, ok
}

// Ends is when the bucket is full, and for one that does not start full, when it is new again.
func (b steps) Ends(s *State) int64 {
	if b.spent > 0 {
		return instant(b.over(s))
	}
	return instant(b.when(b.in(s.At)))
}

// over is when one that does not start full is new again, in microseconds: see partial.
func (b steps) over(s *State) int64 {
	return b.when(b.in(s.At)+b.in(b.burst)) + micros(int64(memory))
}
