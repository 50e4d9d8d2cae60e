package countmin

import (
	"fmt"
	"math"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// The error of a guard that is told none.
const (
	DefaultEpsilon = 1e-4
	DefaultDelta   = 0.01
)

// Settings are what all guards over a sketch have in common.
type Settings struct {
	Epsilon, Delta float64
	Threshold      int64 // units
	Window         time.Duration
	RefuseAbove    int64 // units; 0: never
}

// Defaults are those of a guard that is told its threshold only.
func Defaults() Settings {
	return Settings{Epsilon: DefaultEpsilon, Delta: DefaultDelta, Window: time.Minute}
}

// Check says what is wrong, naming the field.
func (s *Settings) Check() error {
	if s.Threshold < 1 || s.Threshold > Full {
		return fmt.Errorf("threshold is %d, want 1 to %d", s.Threshold, uint32(Full))
	}
	if s.Window < 10*time.Millisecond || s.Window > 24*time.Hour {
		return fmt.Errorf("window is %v, want 10ms to 24h", s.Window)
	}
	if s.RefuseAbove != 0 && (s.RefuseAbove <= s.Threshold || s.RefuseAbove > math.MaxUint32) {
		return fmt.Errorf("refuse-above is %d, want more than the threshold of %d, and at most %d", s.RefuseAbove, s.Threshold, uint32(Full))
	}
	return nil
}

// Verdict judges an estimate, the request's own units in it, while the sketch errs by bound. Nobody
// is refused but by more than the sketch may err, and nobody at all once that reaches the threshold
// of refusal: only a share delta of the keys may then be refused that have asked for less than it.
func (s *Settings) Verdict(estimate uint64, bound func() uint64) core.Verdict {
	if estimate < uint64(s.Threshold) { //nolint:gosec // above 0
		return core.PassKey
	}
	above := uint64(s.RefuseAbove) //nolint:gosec // not below 0
	if above == 0 || estimate < above {
		return core.CheckKey
	}
	if by := bound(); by < above && estimate >= above+by {
		return core.RefuseKey
	}
	return core.CheckKey
}
