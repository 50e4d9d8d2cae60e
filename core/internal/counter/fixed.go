package counter

import (
	"github.com/tierlimit/tierlimit/core"
)

// fixed counts in windows that begin at known instants. A state of a window that has not begun yet,
// which a clock that stepped back leaves behind, stands for the present one, and is stored as that:
// else it would stand for the next ones too.
type fixed struct {
	quota int64
	span  span
}

func newFixed(l core.Limit, now int64) Counter {
	return fixed{quota: l.Quota, span: spanOf(l, now)}
}

func (f fixed) Roll(s *State, now int64) (stale bool) {
	start, _ := f.span.around(micros(now))
	if s.At < start {
		s.N = 0
	}
	stale = s.At > start
	s.At, s.Known = start, true
	return stale
}

func (f fixed) Look(s *State, now, cost int64) View {
	_, end := f.span.around(micros(now))
	v := View{Admits: cost <= f.quota-s.N, Remaining: max(f.quota-s.N, 0)}
	if s.N > 0 {
		v.Next = until(now, end)
	}
	if !v.Admits && cost <= f.quota {
		v.Wait = until(now, end)
	}
	return v
}

func (f fixed) Charge(s *State, _, cost int64) core.Receipt {
	s.N += cost
	return core.Receipt{s.At}
}

func (f fixed) Debit(s *State, now, cost int64) {
	f.Roll(s, now)
	s.N = max(s.N, f.quota-max(f.quota-s.N-cost, 0))
}

func (f fixed) Refund(s *State, now, cost int64, r core.Receipt) {
	if f.Roll(s, now); s.At == r[0] {
		s.N = max(s.N-cost, 0)
	}
}

func (f fixed) Reset(s *State, _ int64) { s.N = 0 }

func (f fixed) Spell(cost int64) (letter string, numbers []int64) {
	if f.span.edges != nil {
		return "c", append([]int64{cost, f.quota}, f.span.edges...)
	}
	return "f", []int64{cost, f.quota, f.span.every, f.span.offset}
}

func (fixed) SpellReceipt(r core.Receipt) [2]int64 { return r }

// Told reads the units in the window.
func (f fixed) Told(now int64, numbers []int64) (s State, rest []int64, ok bool) {
	got, rest, ok := told(numbers, 1)
	if ok {
		f.Roll(&s, now)
		s.N = got[0]
	}
	return s, rest, ok
}

func (f fixed) Ends(s *State) int64 {
	if s.N == 0 {
		return 0
	}
	_, end := f.span.around(s.At)
	return instant(end)
}
