package counter

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// bans counts denials, not charges: Debit is one denial whatever the cost, and Charge nothing. Of a
// State, Log is the denials that count, At is when the latest ban ends and N is which one in a row
// that was.
type bans struct {
	after, multiply      int64
	within, length, most int64 // microseconds
}

func newBans(b core.Ban) Counter {
	return bans{
		after: b.After, multiply: b.Multiply,
		within: micros(int64(b.Within)), length: micros(int64(b.For)), most: micros(int64(b.Max)),
	}
}

// lasts is how long the nth ban in a row is.
func (b bans) lasts(n int64) int64 {
	length := b.length
	for ; n > 1 && length < b.most; n-- {
		length = min(length*b.multiply, b.most)
		if b.multiply == 1 {
			break
		}
	}
	return length
}

// memory is for how long after a ban it is known which one in a row that was.
func (b bans) memory(n int64) int64 { return max(b.within, b.lasts(n)) }

// Roll forgets what no longer counts. A ban that ends later than one that begins now would, which a
// clock that stepped back leaves behind, is cut to that.
func (b bans) Roll(s *State, now int64) (stale bool) {
	us := micros(now)
	stale = slidingLog{quota: b.after, period: b.within}.Roll(s, now)
	switch {
	case s.N > 0 && us >= s.At+b.memory(s.N):
		s.N, s.At = 0, 0
	case s.N > 0 && s.At > us+b.lasts(s.N):
		s.At, stale = us+b.lasts(s.N), true
	}
	return stale
}

func (b bans) Look(s *State, now, _ int64) View {
	left := until(now, s.At)
	if s.N == 0 || left == 0 {
		return View{Admits: true, Remaining: max(b.after-s.used(), 0)}
	}
	return View{Wait: left, Next: left}
}

// Charge does nothing: what is admitted is no denial.
func (b bans) Charge(*State, int64, int64) core.Receipt { return core.Receipt{} }

// Debit counts a denial. Those during a ban do not prolong it.
func (b bans) Debit(s *State, now, _ int64) {
	b.Roll(s, now)
	us := micros(now)
	if s.N > 0 && us < s.At {
		return
	}
	s.add(us, 1)
	if s.used() >= b.after {
		s.N++
		s.At, s.Log = us+b.lasts(s.N), nil
	}
}

// Refund does nothing, since Charge does nothing.
func (b bans) Refund(*State, int64, int64, core.Receipt) {}

func (b bans) Reset(s *State, _ int64) { s.N, s.At, s.Log = 0, 0, nil }

func (b bans) Spell(int64) (letter string, numbers []int64) {
	return "b", []int64{b.after, b.within, b.length, b.multiply, b.most}
}

func (b bans) SpellReceipt(r core.Receipt) [2]int64 { return r }

// Told reads when the ban ends, 0 for none, and the denials that count.
func (b bans) Told(now int64, numbers []int64) (s State, rest []int64, ok bool) {
	if len(numbers) < 2 {
		return s, nil, false
	}
	s.Known, s.At, s.N = true, numbers[0], min(numbers[0], 1)
	if numbers[1] > 0 {
		s.add(micros(now), numbers[1])
	}
	return s, numbers[2:], true
}

func (b bans) Ends(s *State) int64 {
	ends := int64(0)
	if s.N > 0 {
		ends = s.At + b.memory(s.N)
	}
	if n := len(s.Log); n > 0 {
		ends = max(ends, s.Log[n-1].At+b.within)
	}
	return instant(ends)
}

// Lasting is when the ban of a state ends that was stored by a twin or by this one, if it has not yet.
func Lasting(s *State, now int64) (end time.Time, ok bool) {
	return time.UnixMicro(s.At), s.N > 0 && s.At > micros(now)
}
