package redisstore

import "github.com/redis/go-redis/v9"

// AddHook has a hook see every call. A hook of the client that New was given sees none: go-redis leaves them out of
// the copy with time-outs of its own. The nodes of a Cluster are those that are known by now.
func (s *Store) AddHook(h redis.Hook) {
	if s.cluster == nil {
		s.client.(*redis.Client).AddHook(h)
		return
	}
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	for _, n := range s.cluster.nodes {
		n.client.AddHook(h)
	}
}

// Queue tells how many calls are under way and in time, how many are given up but have not
// returned, and how many checks wait for a call: of all nodes.
func (s *Store) Queue() (flights, overdue, waiting int) {
	for _, q := range s.queues() {
		q.mu.Lock()
		flights, overdue, waiting = flights+len(q.flights), overdue+q.overdue, waiting+len(q.waiting)
		q.mu.Unlock()
	}
	return flights, overdue, waiting
}

func (s *Store) queues() (all []*queue) {
	if s.cluster == nil {
		return []*queue{&s.queue}
	}
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	for _, n := range s.cluster.nodes {
		all = append(all, &n.queue)
	}
	return all
}

// Room is how many calls may be under way, at the distance that the server seems to have.
func (s *Store) Room() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.trip.flights()
}

// ClusterKey is where the bucket of a key is stored in a Cluster.
func (s *Store) ClusterKey(key string) string { return s.cluster.prefixes[tagOf(key)] + key }

// Tags are the hash tags of a Cluster's keys.
func Tags() []string { return tagNames[:] }

// TagOf is which of the tags a key has.
func TagOf(key string) uint8 { return tagOf(key) }

// SlotOf is the slot of a hash tag.
func SlotOf(tag string) int { return slotOf(tag) }

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
