package counter

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// mostSlices bounds into how many equal parts a period is cut to weigh the window before: with
// quotas below 2^32 each product is an integer that a double holds too.
const mostSlices = 1 << 20

// sliding counts the present window and so much of the one before as its remaining part, rounded up
// to a slice, would hold if its units had come evenly: rounded to a whole unit. Rounded up, the last
// of a small quota would never be free while the one before has any, and rounded down too early.
type sliding struct {
	quota int64
	span  span
	slice int64 // microseconds
	n     int64 // slices in a period
}

func newSliding(l core.Limit) Counter {
	every := micros(int64(l.Period))
	slice := (every + mostSlices - 1) / mostSlices
	return sliding{
		quota: l.Quota, span: span{every: every, offset: micros(int64(l.Offset()))},
		slice: slice, n: (every + slice - 1) / slice,
	}
}

func (w sliding) Roll(s *State, now int64) (stale bool) {
	start, _ := w.span.around(micros(now))
	switch {
	case s.At >= start: // later: see fixed
	case s.At == start-w.span.every:
		s.N, s.Prev = 0, s.N
	default:
		s.N, s.Prev = 0, 0
	}
	stale = s.At > start
	s.At, s.Known = start, true
	return stale
}

// weight is what the window before still counts at an instant.
func (w sliding) weight(prev, us, end int64) int64 {
	left := (end - us + w.slice - 1) / w.slice
	return (prev*left + w.n/2) / w.n
}

func (w sliding) Look(s *State, now, cost int64) View {
	us := micros(now)
	_, end := w.span.around(us)
	used := s.N + w.weight(s.Prev, us, end)
	v := View{Admits: cost <= w.quota-used, Remaining: max(w.quota-used, 0)}
	if used > 0 {
		v.Next = w.wait(s, now, w.quota-used+1)
	}
	if !v.Admits && cost <= w.quota {
		v.Wait = w.wait(s, now, cost)
	}
	return v
}

// wait is when there will be room for cost: in this window, as the one before fades, or in the next,
// as this one does.
func (w sliding) wait(s *State, now, cost int64) time.Duration {
	us := micros(now)
	_, end := w.span.around(us)
	cost = min(max(cost, 1), w.quota)
	if free := w.quota - cost - s.N; free >= 0 {
		return until(now, w.fades(s.Prev, free, us, end))
	}
	return until(now, w.fades(s.N, w.quota-cost, end, end+w.span.every))
}

// fades is the first instant from us on at which prev counts as free at most.
func (w sliding) fades(prev, free, us, end int64) int64 {
	if prev <= free {
		return us
	}
	return max(us, end-((free+1)*w.n-w.n/2-1)/prev*w.slice)
}

func (w sliding) Charge(s *State, _, cost int64) core.Receipt {
	s.N += cost
	return core.Receipt{s.At}
}

func (w sliding) Debit(s *State, now, cost int64) {
	w.Roll(s, now)
	us := micros(now)
	_, end := w.span.around(us)
	s.N += min(cost, max(w.quota-s.N-w.weight(s.Prev, us, end), 0))
}

// Refund takes from the window that was charged, where it still counts.
func (w sliding) Refund(s *State, now, cost int64, r core.Receipt) {
	w.Roll(s, now)
	switch r[0] {
	case s.At:
		s.N = max(s.N-cost, 0)
	case s.At - w.span.every:
		s.Prev = max(s.Prev-cost, 0)
	}
}

func (w sliding) Reset(s *State, _ int64) { s.N, s.Prev = 0, 0 }

func (w sliding) Spell(cost int64) (letter string, numbers []int64) {
	return "w", []int64{cost, w.quota, w.span.every, w.span.offset, w.slice, w.n}
}

func (sliding) SpellReceipt(r core.Receipt) [2]int64 { return r }

// Told reads the units in this window and in the one before.
func (w sliding) Told(now int64, numbers []int64) (s State, rest []int64, ok bool) {
	got, rest, ok := told(numbers, 2)
	if ok && max(got[0], got[1]) < 1<<32 {
		w.Roll(&s, now)
		s.N, s.Prev = got[0], got[1]
		return s, rest, true
	}
	return s, nil, false
}

func (w sliding) Ends(s *State) int64 {
	_, end := w.span.around(s.At)
	switch {
	case s.N > 0:
		return instant(end + w.span.every)
	case s.Prev > 0:
		return instant(end)
	}
	return 0
}
