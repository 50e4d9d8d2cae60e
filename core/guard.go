package core

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// Guard stands before a level: in fixed memory, and without asking the store, it knows of most keys
// that they have asked for too little to be near a limit. A level's own check is then spared.
// core/floodguard has one. All methods are safe for concurrent use.
type Guard interface {
	// Admit counts cost units, 1 or more, for a key and says what becomes of the request at this
	// level; wait is how long a client that is refused has to stay away, above 0. The key names the
	// level too, so levels may share a guard. It is valid during the call only: clone what is kept.
	Admit(key string, cost int64) (v Verdict, wait time.Duration)
	// Peek says what Admit would and counts nothing.
	Peek(key string, cost int64) (v Verdict, wait time.Duration)
	// Bounds tells what the guard was made with. It does not change.
	Bounds() GuardBounds
}

// Verdict is what a Guard says of a request.
type Verdict uint8

// The verdicts.
const (
	CheckKey  Verdict = iota // the level's limits decide, as without a guard
	PassKey                  // the level takes no part in this request: it neither charges nor reports
	RefuseKey                // refuse for Quota, without asking the store
)

// GuardBounds are a guard's thresholds. New holds them against the limits of its level.
type GuardBounds struct {
	Threshold   int64         // units within Window below which a key passes unchecked
	Window      time.Duration // for at least so long every unit is remembered
	RefuseAbove int64         // units within Memory from which on a key may be refused; 0: never
	Memory      time.Duration // for at most so long a unit is remembered
}

// guardMode is whether a request's guards are asked, and count it.
type guardMode uint8

const (
	guardsCount guardMode = iota
	guardsPeek
	guardsRest
)

func (m guardMode) ask(g Guard, key string, cost int64) (Verdict, time.Duration) {
	switch m {
	case guardsCount:
		return g.Admit(key, cost)
	case guardsPeek:
		return g.Peek(key, cost)
	}
	return CheckKey, 0
}

// fits says what is wrong with standing before these limits. A key that always stays below the
// threshold has to be one that they would have admitted, and one that is refused has to be one
// that has asked for more than they admit.
func (b GuardBounds) fits(limits []Limit) error {
	if b.Threshold < 1 || b.Window < 1 {
		return fmt.Errorf("threshold is %d within %v, want 1 or more in a time: look at the error of the guard's constructor", b.Threshold, b.Window)
	}
	refuses := b.RefuseAbove == 0
	for _, l := range limits {
		if l.kind != counted {
			return fmt.Errorf("limit is %v, want one that counts: there is nothing to guard", l)
		}
		if l.Algorithm == LeakyBucket {
			return errors.New("limit is a leaky bucket, want another: it spaces requests, and has to see each")
		}
		if most := min(l.Capacity(), l.within(b.Window)); b.Threshold > most {
			return fmt.Errorf("threshold is %d within %v, want at most %d: that is what %v holds, and refills in that time", b.Threshold, b.Window, most, l)
		}
		refuses = refuses || b.RefuseAbove >= l.Capacity()+l.within(b.Memory)
	}
	if !refuses {
		return fmt.Errorf("refuse-above is %d, want more than the limits admit in the %v that the guard remembers", b.RefuseAbove, b.Memory)
	}
	return nil
}

// within is how many units refill in d.
func (l Limit) within(d time.Duration) int64 {
	const plenty = 1 << 62
	hi, lo := bits.Mul64(uint64(l.Quota), uint64(d)) //nolint:gosec // both are above 0
	if hi >= uint64(l.Period) {                      //nolint:gosec // above 0
		return plenty
	}
	n, _ := bits.Div64(hi, lo, uint64(l.Period)) //nolint:gosec // above 0
	return int64(min(n, plenty))                 //nolint:gosec // at most plenty
}
