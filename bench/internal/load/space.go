// Package load makes requests, drives an engine with them and measures what it did.
package load

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
)

// Distribution says which identities come how often.
type Distribution string

// The distributions.
const (
	Uniform Distribution = "uniform"
	Zipf    Distribution = "zipf" // exponent 1.1: the most frequent of 10,000 is about every seventh request
	Hot     Distribution = "hot"  // one identity a level
)

const zipfExponent = 1.1

// Space is all identities of a scenario, made beforehand.
type Space struct {
	ips  []netip.Addr
	keys [][]string // by level, for the peers
	dist Distribution
	ring []int32 // indices drawn beforehand, since drawing from zipf costs more than a decision
}

const ringSize = 1 << 18

// NewSpace makes size[i] identities for level i.
func NewSpace(dist Distribution, size []int) *Space {
	s := &Space{dist: dist}
	for i, n := range size {
		keys := make([]string, n)
		for j := range keys {
			if i == 0 {
				s.ips = append(s.ips, address(j))
			}
			keys[j] = engine.LevelName(i) + ":" + s.name(i, j)
		}
		s.keys = append(s.keys, keys)
	}
	if dist == Zipf {
		s.draw(size[0])
	}
	return s
}

func (s *Space) draw(n int) {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), zipfExponent, 1, uint64(n-1))
	s.ring = make([]int32, ringSize)
	for i := range s.ring {
		s.ring[i] = int32(z.Uint64())
	}
}

func (s *Space) name(level, j int) string {
	switch level {
	case 0:
		return s.ips[j].String()
	case 2:
		return fmt.Sprintf("GET /items%d", j)
	}
	return fmt.Sprintf("u%d", j)
}

func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

// Size is how many identities the first level has.
func (s *Space) Size() int { return len(s.keys[0]) }

// Source fills one request again and again. It belongs to one goroutine.
type Source struct {
	space *Space
	rand  *rand.Rand
	at    int
	req   engine.Request
}

// Source makes the n-th source. Sources with the same number give the same requests, so every
// engine meets the same.
func (s *Space) Source(n int) *Source {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	return &Source{space: s, rand: r, at: r.IntN(ringSize), req: engine.Request{Keys: make([]string, len(s.keys))}}
}

// Next is the next request, good until the next call.
func (s *Source) Next() *engine.Request {
	for level, keys := range s.space.keys {
		s.set(level, s.index(len(keys)))
	}
	return &s.req
}

// Nth has identity n at every level, or the last one where there are fewer.
func (s *Source) Nth(n int) *engine.Request {
	for level, keys := range s.space.keys {
		s.set(level, n%len(keys))
	}
	return &s.req
}

func (s *Source) index(n int) int {
	switch s.space.dist {
	case Hot:
		return 0
	case Zipf:
		s.at++
		return int(s.space.ring[s.at%ringSize]) % n
	}
	return int(s.rand.Uint32N(uint32(n)))
}

func (s *Source) set(level, n int) {
	key := s.space.keys[level][n]
	s.req.Keys[level] = key
	switch level {
	case 0:
		s.req.IP = s.space.ips[n]
	case 1:
		s.req.User = key[len("user:"):]
	case 2:
		s.req.Endpoint = key[len("endpoint:"):]
	}
}
