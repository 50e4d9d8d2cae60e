package counter

import (
	"slices"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// slidingLog remembers every charge for a period, in the order of their instants. A charge stops
// counting exactly one period after it was made.
type slidingLog struct{ quota, period int64 }

// Roll forgets what no longer counts. Charges that lie ahead, which a clock that stepped back leaves
// behind, are moved to now: nobody waits for longer than a period.
func (g slidingLog) Roll(s *State, now int64) (stale bool) {
	us := micros(now)
	from := 0
	for from < len(s.Log) && s.Log[from].At <= us-g.period {
		from++
	}
	s.Log, s.Known = s.Log[from:], true
	n, ahead := len(s.Log), int64(0)
	for ; n > 0 && s.Log[n-1].At > us; n-- {
		ahead += s.Log[n-1].Units
	}
	if ahead > 0 {
		s.Log = slices.Clone(s.Log[:n]) // the caller may be looking only
		s.add(us, ahead)
	}
	return ahead > 0
}

func (s *State) used() (units int64) {
	for _, e := range s.Log {
		units += e.Units
	}
	return units
}

// add enters units at an instant that is no earlier than any other.
func (s *State) add(us, units int64) {
	if n := len(s.Log); n > 0 && s.Log[n-1].At == us {
		s.Log[n-1].Units += units
		return
	}
	s.Log = append(s.Log, Entry{us, units})
}

func (g slidingLog) Look(s *State, now, cost int64) View {
	used := s.used()
	v := View{Admits: cost <= g.quota-used, Remaining: max(g.quota-used, 0)}
	if used > 0 {
		v.Next = g.wait(s, now, max(used-g.quota, 0)+1)
	}
	if !v.Admits && cost <= g.quota {
		v.Wait = g.wait(s, now, used+cost-g.quota)
	}
	return v
}

// wait is when so many units have stopped counting.
func (g slidingLog) wait(s *State, now, units int64) time.Duration {
	for _, e := range s.Log {
		if units -= e.Units; units <= 0 {
			return until(now, e.At+g.period)
		}
	}
	return 0
}

func (g slidingLog) Charge(s *State, now, cost int64) core.Receipt {
	s.add(micros(now), cost)
	return core.Receipt{micros(now)}
}

func (g slidingLog) Debit(s *State, now, cost int64) {
	g.Roll(s, now)
	if units := min(cost, g.quota-s.used()); units > 0 {
		s.add(micros(now), units)
	}
}

// Refund takes from what was charged at the charge's own instant.
func (g slidingLog) Refund(s *State, now, cost int64, r core.Receipt) {
	g.Roll(s, now)
	for i := range s.Log {
		if e := &s.Log[i]; e.At == r[0] {
			if e.Units -= cost; e.Units <= 0 {
				s.Log = slices.Delete(s.Log, i, i+1)
			}
			return
		}
	}
}

func (g slidingLog) Reset(s *State, _ int64) { s.Log = nil }

func (g slidingLog) Spell(cost int64) (letter string, numbers []int64) {
	return "g", []int64{cost, g.quota, g.period}
}

func (slidingLog) SpellReceipt(r core.Receipt) [2]int64 { return r }

// Told reads the units, the instant of the charge with which another unit comes back, and of the one
// with which the cost does. A log with entries at these two looks as the script's does.
func (g slidingLog) Told(_ int64, numbers []int64) (s State, rest []int64, ok bool) {
	got, rest, ok := told(numbers, 3)
	if !ok {
		return s, nil, false
	}
	used, next, last := got[0], got[1], got[2]
	s.Known = true
	if first := max(used-g.quota, 0) + 1; last > next && first < used {
		s.Log = append(s.Log, Entry{next, first}, Entry{last, used - first})
	} else if used > 0 {
		s.Log = append(s.Log, Entry{next, used})
	}
	return s, rest, true
}

func (g slidingLog) Ends(s *State) int64 {
	if len(s.Log) == 0 {
		return 0
	}
	return instant(s.Log[len(s.Log)-1].At + g.period)
}
