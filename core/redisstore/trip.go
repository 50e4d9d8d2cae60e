package redisstore

import "time"

// Where a server is near, more than two calls under way only make each batch smaller. Where it is
// far, checks would wait for a place: the farther, the more calls may be under way.
const (
	fewestFlights = 2
	mostFlights   = 16
	tripOfAFlight = 100 * time.Microsecond
)

// trip is the shortest time that a call has taken since the last one that failed: the distance to
// the server, without what a busy one adds.
type trip struct{ shortest time.Duration }

// note takes the time of a call. One that failed may have been the last to that server.
func (t *trip) note(took time.Duration, failed bool) {
	switch {
	case failed:
		t.shortest = 0
	case t.shortest == 0 || took < t.shortest:
		t.shortest = max(took, 1)
	}
}

// flights is how many calls may be under way.
func (t *trip) flights() int {
	return int(min(max(t.shortest/tripOfAFlight, fewestFlights), mostFlights))
}
