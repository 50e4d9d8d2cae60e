package core

import (
	"fmt"
	"time"
)

// Ban turns repeated denials at a level into a block: After denials of one caller within Within,
// that caller is refused there for For, whatever its buckets hold, with the reason Banned. The
// next time it is Multiply times as long, up to Max. How often it was banned is forgotten when as
// much time as the last ban took, and Within at least, has passed since that. The zero Ban bans nobody.
//
// Bans are shared through the store, as buckets are. What is refused during one does not prolong
// it, and Reset of the level ends it.
type Ban struct {
	After    int64         // denials, 1 to 1000
	Within   time.Duration // whole microseconds, above 0
	For      time.Duration // whole microseconds, above 0
	Multiply int64         // 0 or 1: each ban is as long as the first; up to 1000
	Max      time.Duration // 0: 24 hours, or For if that is longer
}

const (
	mostDenials  = 1000
	mostMultiply = 1000
	longestBan   = 100 * 365 * 24 * time.Hour
)

func (b Ban) validate() error {
	switch {
	case b == (Ban{}):
		return nil
	case b.After < 1 || b.After > mostDenials:
		return fmt.Errorf("ban: after is %d, want 1 to %d denials", b.After, mostDenials)
	case b.Multiply < 0 || b.Multiply > mostMultiply:
		return fmt.Errorf("ban: multiply is %d, want 0 to %d", b.Multiply, mostMultiply)
	case b.Max != 0 && b.Max < b.For:
		return fmt.Errorf("ban: max is %v, want 0 or at least for, %v", b.Max, b.For)
	}
	for name, d := range map[string]time.Duration{"within": b.Within, "for": b.For, "max": b.longest()} {
		if d <= 0 || d > longestBan || d%time.Microsecond != 0 {
			return fmt.Errorf("ban: %s is %v, want whole microseconds, above 0 and up to 100 years", name, d)
		}
	}
	return nil
}

func (b Ban) longest() time.Duration {
	if b.Max != 0 {
		return b.Max
	}
	return max(b.For, 24*time.Hour)
}

// limit is a ban in the form in which stores know it: a bucket that Take only looks at, and that
// Debit counts one denial in, whatever the cost.
func (b Ban) limit() Limit {
	b.Max, b.Multiply = b.longest(), max(b.Multiply, 1)
	return Limit{Quota: b.After, Period: b.Within}.as(shape{ban: b})
}

// Ban is what a bucket of bans goes by: the zero Ban for every limit of a level. Multiply is at
// least 1 in it, and Max above 0.
func (l Limit) Ban() Ban {
	if !l.Shaped() {
		return Ban{}
	}
	return l.extra().ban
}
