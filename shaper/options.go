package shaper

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Option configures a Queue.
type Option func(*Queue) error

// WithBacklog sets how many unfinished jobs the queue holds at most: waiting, in work, or failed and
// to be tried again. 1 or more; the default is 10,000. More are refused with ErrFull. Each
// producer's own setting counts for what it adds.
func WithBacklog(n int) Option {
	return func(q *Queue) error {
		if n < 1 {
			return fmt.Errorf("backlog is %d, want 1 or more", n)
		}
		q.backlog = n
		return nil
	}
}

// WithAttempts sets how often a job is started at most; the default is 5, 1 or more. A start counts
// when its handler fails or panics, or its worker dies; not when Work was told to end meanwhile.
func WithAttempts(n int) Option {
	return func(q *Queue) error {
		if n < 1 {
			return fmt.Errorf("attempts are %d, want 1 or more", n)
		}
		q.attempts = n
		return nil
	}
}

// WithClaimAfter sets after how long without a sign of life from its worker a job is given to
// another; the default is 30 s, 100 ms to 24 h. A worker gives a sign every third of it, however
// long its handler takes. All workers of a queue should have the same.
func WithClaimAfter(d time.Duration) Option {
	return func(q *Queue) error {
		if d < 100*time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("claim after is %v, want 100ms to 24h", d)
		}
		q.claimAfter = d.Round(time.Millisecond)
		return nil
	}
}

// WithRetryAfter sets how long a job rests after its handler failed; 0 to WithClaimAfter, which is
// the default. The next try then takes its turn before new jobs.
func WithRetryAfter(d time.Duration) Option {
	return func(q *Queue) error {
		if d < 0 {
			return fmt.Errorf("retry after is %v, want 0 to claim after", d)
		}
		q.retryAfter, q.retrySet = d, true
		return nil
	}
}

// WithGrace sets how long a handler may go on after Work was told to end before its own context
// ends too; the default is 10 s, 0 or more.
func WithGrace(d time.Duration) Option {
	return func(q *Queue) error {
		if d < 0 {
			return fmt.Errorf("grace is %v, want 0 or more", d)
		}
		q.grace = d
		return nil
	}
}

// WithPrefix sets what every key begins with, before a colon: letters, digits, "_", "-" and ".", at
// most 64 bytes. The default is "tierlimit".
func WithPrefix(prefix string) Option {
	return func(q *Queue) error {
		if !validName(prefix) {
			return fmt.Errorf("prefix is %q, want 1 to 64 letters, digits, dots, _ or -", prefix)
		}
		q.prefix = prefix
		return nil
	}
}

// WithLogger sets where workers log failed jobs, and when Redis fails them and is back; the default
// is slog.Default at the time of New. Payloads are not logged.
func WithLogger(log *slog.Logger) Option {
	return func(q *Queue) error {
		if log == nil {
			return errors.New("logger is nil, want a *slog.Logger")
		}
		q.log = log
		return nil
	}
}

func validName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
