package load

import (
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Traffic is how requests relate to their limits, which decides what a limiter has to write.
type Traffic string

// The kinds of traffic.
const (
	Busy Traffic = "busy" // none denied; a unit takes longer to come back than a key's next hit
	Calm Traffic = "calm" // none denied; at each hit the bucket is full again
	// Denied has nothing left at any level: who asks level by level is done after one.
	Denied Traffic = "denied"
	// DeniedLast has nothing left at the endpoints, and the callers are ever new: who asks
	// level by level asks them all, and has charged two when the third refuses.
	DeniedLast Traffic = "denied-last"
)

// Limit makes the traffic what it is.
func (t Traffic) Limit() core.Limit {
	switch t {
	case Calm:
		return core.PerSecond(1_000_000)
	case Denied, DeniedLast:
		return core.PerHour(1)
	}
	return core.Per(1_000_000, 1_000_000*6*time.Second)
}

// LocalLimit is that for limiters in process, which take a hundred times as many decisions a
// second from one key.
func (t Traffic) LocalLimit() core.Limit {
	if t == Busy {
		return core.Per(1_000_000_000, 1_000_000_000*time.Second)
	}
	return t.Limit()
}

// Scenario is one kind of work that all engines are given.
type Scenario struct {
	Levels     int
	Goroutines int
	Keys       Distribution
	Traffic    Traffic
}

// Name is how results and -run refer to it.
func (s Scenario) Name() string {
	return fmt.Sprintf("levels=%d/traffic=%s/keys=%s/goroutines=%d", s.Levels, s.Traffic, s.Keys, s.Goroutines)
}

// Space is 10,000 addresses, 10,000 users and 16 endpoints. Denied traffic has fewer, since
// each has to use up its one unit beforehand, or so many that they hardly come twice.
func (s Scenario) Space() *Space {
	each := 10_000
	switch s.Traffic {
	case Denied:
		each = deniedKeys
	case DeniedLast:
		each = 300_000
	}
	return NewSpace(s.Keys, []int{each, each, endpoints}[:s.Levels])
}

const (
	endpoints  = 16
	deniedKeys = 1_000
)

// Exhaust is how many identities have to be used up beforehand.
func (s Scenario) Exhaust() int {
	switch s.Traffic {
	case Denied:
		return deniedKeys
	case DeniedLast:
		return endpoints
	}
	return 0
}

// IsDenied is that nearly every request is refused.
func (s Scenario) IsDenied() bool { return s.Exhaust() > 0 }

// Standard is what is measured unless more is asked for: each property varied by itself.
func Standard() []Scenario {
	var list []Scenario
	for _, t := range []Traffic{Busy, Calm, Denied, DeniedLast} {
		list = append(list, Scenario{3, 128, Uniform, t})
	}
	return append(
		list,
		Scenario{3, 16, Uniform, Busy},
		Scenario{3, 1, Uniform, Busy},
		Scenario{3, 128, Zipf, Busy},
		Scenario{3, 128, Hot, Busy},
		Scenario{1, 128, Uniform, Busy},
	)
}

// All is every combination.
func All() []Scenario {
	var list []Scenario
	for _, goroutines := range []int{1, 16, 128} {
		list = append(list, Scenario{3, goroutines, Uniform, DeniedLast})
	}
	for _, levels := range []int{1, 3} {
		for _, t := range []Traffic{Busy, Calm, Denied} {
			for _, keys := range []Distribution{Uniform, Zipf, Hot} {
				for _, goroutines := range []int{1, 16, 128} {
					list = append(list, Scenario{levels, goroutines, keys, t})
				}
			}
		}
	}
	return list
}
