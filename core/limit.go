package core

import (
	"errors"
	"fmt"
	"time"
	"unique"

	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// Limit admits Quota units per Period, counted by Algorithm. It is a plain value: copy and
// compare it freely. The zero Limit is not valid; to admit everything or nothing say
// Unlimited or BlockAll. What only some limits have is set by methods: WithStep, WithStart and
// WithOffset, and PerCalendar.
//
// Quota and Burst are 1 to 1e12, and Quota at most 1e9 units a second. The time of one unit
// is rounded up to a nanosecond, so a rate above 1e6 units a second may come out lower than
// written; below that the difference is under 0.1 %.
type Limit struct {
	Quota     int64         // units per Period
	Period    time.Duration // above 0
	Burst     int64         // units that can be spent at once, or queued; 0 means Quota. Windows and logs have none
	Algorithm Algorithm     // the zero value is TokenBucket

	kind  limitKind
	shape unique.Handle[shape] // zero: the plain one
}

type limitKind uint8

const (
	counted limitKind = iota
	unlimited
	blockAll
)

// Unlimited and BlockAll are the two limits that count nothing. Unlimited, as a level's
// limit on a route, switches that level off there; BlockAll refuses every request.
var (
	Unlimited = Limit{kind: unlimited}
	BlockAll  = Limit{kind: blockAll}
)

// Per admits n units each period.
func Per(n int64, period time.Duration) Limit { return Limit{Quota: n, Period: period} }

// PerSecond admits n units a second.
func PerSecond(n int64) Limit { return Per(n, time.Second) }

// PerMinute admits n units a minute.
func PerMinute(n int64) Limit { return Per(n, time.Minute) }

// PerHour admits n units an hour.
func PerHour(n int64) Limit { return Per(n, time.Hour) }

// PerDay admits n units in 24 hours.
func PerDay(n int64) Limit { return Per(n, 24*time.Hour) }

// WithBurst returns l with another capacity; 0 means Quota.
func (l Limit) WithBurst(n int64) Limit {
	l.Burst = n
	return l
}

// With returns l counted by another algorithm.
func (l Limit) With(a Algorithm) Limit {
	l.Algorithm = a
	return l
}

// Capacity is how many units can be spent at once: Burst, or Quota where Burst is 0.
func (l Limit) Capacity() int64 {
	if l.Burst == 0 {
		return l.Quota
	}
	return l.Burst
}

// String gives the limit as a person would say it: "300 per 1m0s", "5 per 15m0s burst 2 (sliding_log)".
func (l Limit) String() string {
	switch l.kind {
	case unlimited:
		return "unlimited"
	case blockAll:
		return "block all"
	}
	s := fmt.Sprintf("%d per %v", l.Quota, l.Period)
	if l.Burst != 0 && l.Burst != l.Quota {
		s += fmt.Sprintf(" burst %d", l.Burst)
	}
	if l.Algorithm != TokenBucket {
		s += " (" + l.Algorithm.String() + ")"
	}
	return s + l.extra().String()
}

// Validate says what is wrong with l, naming the field, or returns nil.
func (l Limit) Validate() error {
	if l.kind != counted {
		if l != Unlimited && l != BlockAll {
			return errors.New("unlimited and block-all take no quota, period, burst, algorithm or any more")
		}
		return nil
	}
	if int(l.Algorithm) >= len(algorithmNames) {
		return fmt.Errorf("algorithm is %d, want one of the Algorithm constants", l.Algorithm)
	}
	if _, err := tokenbucket.Compile(l.Quota, l.Period, l.Capacity()); err != nil {
		return err
	}
	if err := l.checkWindow(); err != nil {
		return err
	}
	return l.checkShape()
}

// maxSliding bounds the quota of a sliding window, whose units are weighed in numbers that a
// script holds exactly.
const maxSliding = 1<<32 - 1

func (l Limit) checkWindow() error {
	switch l.Algorithm {
	case TokenBucket, LeakyBucket:
		return nil
	case SlidingWindow:
		if l.Quota > maxSliding {
			return fmt.Errorf("quota is %d, want at most %d in a sliding window", l.Quota, int64(maxSliding))
		}
	case FixedWindow, SlidingLog:
	}
	if l.Burst != 0 && l.Burst != l.Quota {
		return fmt.Errorf("burst is %d, want 0: a %v has none", l.Burst, l.Algorithm)
	}
	if l.Period%time.Microsecond != 0 {
		return fmt.Errorf("period is %v, want whole microseconds for a %v", l.Period, l.Algorithm)
	}
	return nil
}
