package fallback

import (
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/tierlimit/tierlimit/core/memstore"
)

// Option configures a Store.
type Option func(*Store) error

// WithReplicas says how many replicas of the service there are, so that in an outage each holds
// its part of every limit and together they hold the whole. By default they are counted through the
// shared store, if that is a core.Census; until it has been reached, a replica takes itself to be the only
// one.
func WithReplicas(n int) Option {
	return func(s *Store) error {
		if n < 1 {
			return fmt.Errorf("replicas is %d, want 1 or more", n)
		}
		return s.tell("replicas", 1/float64(n))
	}
}

// WithShare sets this replica's part of every limit during an outage, above 0 to 1, for
// replicas that get unequal traffic.
func WithShare(share float64) Option {
	return func(s *Store) error {
		if math.IsNaN(share) || share <= 0 || share > 1 {
			return fmt.Errorf("share is %v, want above 0 to 1", share)
		}
		return s.tell("share", share)
	}
}

func (s *Store) tell(option string, share float64) error {
	if s.portion.given > 0 {
		return fmt.Errorf("%s is given beside another share, want WithReplicas or WithShare once", option)
	}
	s.portion.given = share
	return nil
}

// WithLocalEntries bounds the local buckets; see memstore.WithMaxEntries.
func WithLocalEntries(n int) Option {
	return func(s *Store) error {
		s.entries = append(s.entries, memstore.WithMaxEntries(n))
		return nil
	}
}

// WithLogger sets where changes of state are logged, one line each; the default is
// slog.Default at the time of New.
func WithLogger(log *slog.Logger) Option {
	return func(s *Store) error {
		if log == nil {
			return errors.New("logger is nil, want a *slog.Logger")
		}
		s.log = log
		return nil
	}
}

// WithOnChange calls f at each change of state, one at a time and in order. It may be given more
// than once. Nothing waits for f but later calls and lines of the log: where it is so slow that 64 wait, a node's
// going and coming back in the meantime are left out together, never its last state. f may call the Store.
func WithOnChange(f func(Change)) Option {
	return func(s *Store) error {
		if f == nil {
			return errors.New("on-change function is nil, want a function")
		}
		s.onChange = append(s.onChange, f)
		return nil
	}
}
