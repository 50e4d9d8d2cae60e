package counter

import (
	"math"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// memory is for how long, beside the time to fill, a bucket that was full is told from a new one: who waits as
// told is to find it. Retry-After is whole seconds, up to one more than the wait, and with all the jitter that
// a limiter may have twice that: as much as the wait, which is no longer than the time to fill, and two
// seconds. The others are for the way and a client's own timer.
const memory = 10 * time.Second

// partial is a token bucket that does not start full. That it is not new, it says by being there: once it
// is full, for as long again as it takes to fill, and memory.
type partial struct {
	rate  tokenbucket.Rate
	spent int64 // ticks of a new one
	known int64 // ticks from when it is full until it is new again
}

func newPartial(l core.Limit) Counter {
	rate, _ := tokenbucket.Compile(l.Quota, l.Period, l.Capacity()) // the limit is valid
	return partial{
		rate:  rate,
		spent: min(rate.Cost(l.Capacity()-l.Start()), rate.Capacity),
		known: rate.Capacity + rate.Ticks(int64(memory)),
	}
}

func (b partial) Roll(s *State, now int64) (stale bool) {
	stale = b.begin(s, now)
	if most := b.rate.Ticks(now) + b.rate.Capacity; s.At > most {
		s.At, stale = most, true
	}
	return stale
}

// begin is Roll without forgiving.
func (b partial) begin(s *State, now int64) (stale bool) {
	ticks := b.rate.Ticks(now)
	if s.Known && s.N != b.rate.PerSec { // another limit's ticks
		s.At = b.rate.Join(tokenbucket.Rate{PerSec: s.N}.Split(s.At))
	}
	if !s.Known || s.At <= ticks-b.known {
		*s = b.state(ticks + b.spent)
		return true
	}
	*s = b.state(max(s.At, ticks))
	return false
}

// state tells in N which ticks it counts in.
func (b partial) state(at int64) State { return State{Known: true, At: at, N: b.rate.PerSec} }

func (b partial) debt(s *State, now int64) int64 { return s.At - b.rate.Ticks(now) }

func (b partial) Look(s *State, now, cost int64) View {
	debt, ticks := b.debt(s, now), b.rate.Cost(cost)
	v := View{Admits: b.rate.Admits(debt, ticks)}
	v.Remaining, v.Next = b.rate.Left(debt)
	if !v.Admits && ticks <= b.rate.Capacity {
		v.Wait = b.rate.Wait(debt, ticks)
	}
	return v
}

func (b partial) Charge(s *State, _, cost int64) core.Receipt {
	s.At += b.rate.Cost(cost)
	return core.Receipt{s.At}
}

func (b partial) Debit(s *State, now, cost int64) {
	b.begin(s, now)
	s.At = b.rate.Ticks(now) + b.rate.Debit(b.debt(s, now), b.rate.Cost(cost))
}

func (b partial) Refund(s *State, now, cost int64, r core.Receipt) {
	b.begin(s, now)
	ticks := b.rate.Ticks(now)
	s.At = max(s.At-min(b.rate.Cost(cost), max(r[0]-ticks, 0)), ticks)
}

func (b partial) Reset(s *State, now int64) { *s = b.state(b.rate.Ticks(now)) }

func (b partial) Spell(cost int64) (letter string, numbers []int64) {
	spell := tokenbucket.Spelling{Rate: b.rate, Cost: b.rate.Cost(cost), Spent: b.spent}
	return "u", spell.Numbers()
}

func (b partial) SpellReceipt(r core.Receipt) [2]int64 {
	sec, ns := b.rate.Split(r[0])
	return [2]int64{sec, ns}
}

// Told reads the debt.
func (b partial) Told(now int64, numbers []int64) (s State, rest []int64, ok bool) {
	debt, rest, ok := b.rate.Told(numbers)
	return b.state(b.rate.Ticks(now) + debt), rest, ok
}

func (b partial) Ends(s *State) int64 {
	if s.At > math.MaxInt64-b.known {
		return math.MaxInt64
	}
	return int64(b.rate.Duration(s.At + b.known))
}
