package redisstore

import (
	"errors"
	"fmt"
	"time"
)

// Option configures a Store.
type Option func(*Store) error

// WithBudget sets how long a decision may wait for Redis in all: queueing, connecting and the
// answer. The default is 50 ms; 1 ms to 1 min.
func WithBudget(d time.Duration) Option {
	return func(s *Store) error {
		if d < time.Millisecond || d > time.Minute {
			return fmt.Errorf("budget is %v, want 1ms to 1m", d)
		}
		s.budget = d
		return nil
	}
}

// WithPrefix sets what every key begins with, before a colon and, in a Cluster, one of 256 hash tags: letters, digits, "_", "-" and
// ".", at most 64 bytes. The default is "tierlimit".
func WithPrefix(prefix string) Option {
	return func(s *Store) error {
		if !validPrefix(prefix) {
			return fmt.Errorf("prefix is %q, want 1 to 64 letters, digits, dots, _ or -", prefix)
		}
		s.prefix = prefix + ":"
		return nil
	}
}

// WithDenyCache sets for how long at most a denial is remembered in this process, 0 to 1 min; the
// default is 1 s, 0 asks Redis each time. Requests that need more than a remembered bucket can
// hold by now are refused here, in nanoseconds, as core.FromCache. A reset or refund made
// through this store counts at once, one made by another replica within that time.
func WithDenyCache(age time.Duration) Option {
	return func(s *Store) error {
		if age < 0 || age > time.Minute {
			return fmt.Errorf("deny cache age is %v, want 0 to 1m", age)
		}
		s.denials.age = int64(age)
		return nil
	}
}

// WithClock replaces the server's clock, for tests: in production it would make every limit
// depend on the clocks of the replicas.
func WithClock(now func() time.Time) Option {
	return func(s *Store) error {
		if now == nil {
			return errors.New("clock is nil, want a function")
		}
		s.clock = now
		return nil
	}
}

func validPrefix(p string) bool {
	for i := range len(p) {
		c := p[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return p != "" && len(p) <= 64
}
