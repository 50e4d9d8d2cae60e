package fallback

import "slices"

// readings turns what the shared store counts into what an outage goes by: the middle one of the last
// three counts. A replica that restarts is counted twice until its former self has expired, and one that
// asks a store that has just lost its memory finds itself alone; neither lasts for two counts.
//
// For a while after a failure no count is believed but a higher one: the others may not have been
// able to tell that they are there.
type readings struct {
	last  [3]int64
	taken int
	after int64 // the instant before which only a higher count is believed
}

// failed notes that the store could not count, or was away, at that instant.
func (r *readings) failed(at int64) { r.taken, r.after = 0, max(r.after, at+int64(countFor)) }

// take adds a count, and says what to go by instead of count.
func (r *readings) take(n, count, now int64) int64 {
	if now < r.after {
		return max(n, count)
	}
	r.last[r.taken%len(r.last)] = n
	if r.taken++; r.taken < len(r.last) {
		return max(n, count)
	}
	middle := r.last
	slices.Sort(middle[:])
	return middle[1]
}
