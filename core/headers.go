package core

import (
	"fmt"
	"slices"
	"time"
)

// HeaderFormat is a set of response headers that tell a client its limits.
type HeaderFormat uint8

const (
	// RateLimit is RateLimit-Policy and RateLimit as structured lists, one item for each limit
	// (draft-ietf-httpapi-ratelimit-headers-11).
	RateLimit HeaderFormat = iota
	// RateLimitDraft07 is RateLimit as one dictionary, for the tightest limit (draft -07).
	RateLimitDraft07
	// RateLimitDraft06 is RateLimit-Limit, -Remaining and -Reset (drafts -04 to -06).
	RateLimitDraft06
	// XRateLimitDelta is X-RateLimit-Limit, -Remaining and -Reset, the last in seconds from now.
	XRateLimitDelta
	// XRateLimitEpoch is the same with -Reset in seconds since the epoch.
	XRateLimitEpoch
)

var formatNames = [...]string{"ratelimit", "ratelimit-draft-07", "ratelimit-draft-06", "x-ratelimit-delta", "x-ratelimit-epoch"}

// fieldNames are the headers of each format, in the order of writing.
var fieldNames = [...][]string{
	RateLimit:        {"RateLimit-Policy", "RateLimit"},
	RateLimitDraft07: {"RateLimit-Policy", "RateLimit"},
	RateLimitDraft06: {"RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"},
	XRateLimitDelta:  {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"},
	XRateLimitEpoch:  {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"},
}

// String returns the name used in policy files.
func (f HeaderFormat) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return "unknown header format"
}

// ParseHeaderFormat is the inverse of String; ok is false for any other text.
func ParseHeaderFormat(name string) (f HeaderFormat, ok bool) {
	i := slices.Index(formatNames[:], name)
	return HeaderFormat(max(i, 0)), i >= 0
}

// validateFormats refuses two formats that write the same field with different syntax.
func validateFormats(formats []HeaderFormat) error {
	owner := map[string]HeaderFormat{}
	for _, f := range formats {
		if int(f) >= len(formatNames) {
			return fmt.Errorf("format is %d, want one of the HeaderFormat constants", f)
		}
		for _, name := range fieldNames[f] {
			if other, taken := owner[name]; taken {
				return fmt.Errorf("%v and %v both write %s, want one of them", other, f, name)
			}
			owner[name] = f
		}
	}
	return nil
}

// seconds rounds up: a client that waits what it is told is never early.
func seconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Second) + 1
}

func ceilUnix(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
