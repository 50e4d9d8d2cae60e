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

// Leases is how many keys have a lease or may get one soon.
func (s *Store) Leases() int { return int(s.leases.count.Load()) }

// Leased is how many units the store holds of a key and may spend now.
func (s *Store) Leased(key string) int64 {
	l := s.leases.find(key)
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.grant.holds(1, s.leases.now()) {
		return 0
	}
	return l.grant.left
}

// Fetching tells whether a block of a key is on its way.
func (s *Store) Fetching(key string) bool {
	l := s.leases.find(key)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fetching
}
