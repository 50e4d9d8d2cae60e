package tokenbucket

// A script knows ticks as whole seconds and nanoseconds: a double holds each of them exactly, but not
// the two in one.

// Spelling is a bucket and what becomes of it as a script is told of them, in ticks.
type Spelling struct {
	Rate  Rate
	Cost  int64
	Spent int64 // of a new bucket
}

// Numbers are the nanoseconds in a tick, the cost, the capacity and what is spent of a new bucket.
func (s Spelling) Numbers() []int64 {
	out := append(make([]int64, 0, 7), int64(1e9)/s.Rate.PerSec)
	for _, ticks := range [...]int64{s.Cost, s.Rate.Capacity, s.Spent} {
		sec, ns := s.Rate.Split(ticks)
		out = append(out, sec, ns)
	}
	return out
}

// Told reads ticks that a script told: in nanoseconds, or, where that is not exact, as minus the
// seconds and then the nanoseconds. It returns what is left of the numbers.
func (r Rate) Told(numbers []int64) (ticks int64, rest []int64, ok bool) {
	switch {
	case len(numbers) > 0 && numbers[0] >= 0:
		return r.Join(0, numbers[0]), numbers[1:], true
	case len(numbers) > 1 && numbers[0] >= -1<<53 && numbers[1] >= 0 && numbers[1] < 1e9:
		return r.Join(-numbers[0], numbers[1]), numbers[2:], true
	}
	return 0, nil, false
}
