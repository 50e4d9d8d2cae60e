package redisstore

// Queue tells how many calls are under way and in time, how many are given up but have not
// returned, and how many checks wait for a call.
func (s *Store) Queue() (flights, overdue, waiting int) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.flights), s.queue.overdue, len(s.queue.waiting)
}

// Room is how many calls may be under way, at the distance that the server seems to have.
func (s *Store) Room() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.trip.flights()
}
