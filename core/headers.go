package core

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
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
		for name := range f.fields(headerItem{}, nil, time.Time{}) {
			if other, taken := owner[name]; taken {
				return fmt.Errorf("%v and %v both write %s, want one of them", other, f, name)
			}
			owner[name] = f
		}
	}
	return nil
}

// headerItem is one limit as a client sees it.
type headerItem struct {
	name      string
	quota     int64
	window    time.Duration
	remaining int64
	reset     time.Duration
}

// fields writes the headers of one format; tight is the item for formats that know only one.
func (f HeaderFormat) fields(tight headerItem, items []headerItem, now time.Time) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		limit, left, reset := strconv.FormatInt(tight.quota, 10), strconv.FormatInt(tight.left(), 10), strconv.FormatInt(seconds(tight.reset), 10)
		switch f {
		case RateLimit:
			_ = yield("RateLimit-Policy", policyList(items)) && yield("RateLimit", limitList(items))
		case RateLimitDraft07:
			_ = yield("RateLimit-Policy", legacyPolicies(items)) && yield("RateLimit", "limit="+limit+", remaining="+left+", reset="+reset)
		case RateLimitDraft06:
			_ = yield("RateLimit-Policy", legacyPolicies(items)) && yield("RateLimit-Limit", limit) && yield("RateLimit-Remaining", left) && yield("RateLimit-Reset", reset)
		case XRateLimitEpoch:
			reset = strconv.FormatInt(ceilUnix(now.Add(tight.reset)), 10)
			fallthrough
		case XRateLimitDelta:
			_ = yield("X-RateLimit-Limit", limit) && yield("X-RateLimit-Remaining", left) && yield("X-RateLimit-Reset", reset)
		}
	}
}

// left is what the draft calls the available quota: a burst above the quota is not shown, since
// clients read it as a share of q.
func (i headerItem) left() int64 { return min(max(i.remaining, 0), i.quota) }

// policyList is RateLimit-Policy. RFC 9651 lists join with ", " and parameters with ";" alone.
func policyList(items []headerItem) string {
	b := make([]byte, 0, 32*len(items))
	for n, i := range items {
		b = appendName(b, n, i.name)
		b = strconv.AppendInt(append(b, ";q="...), i.quota, 10)
		if i.window >= time.Second { // w is a positive integer of seconds: shorter windows have none
			b = strconv.AppendInt(append(b, ";w="...), seconds(i.window), 10)
		}
	}
	return string(b)
}

func limitList(items []headerItem) string {
	b := make([]byte, 0, 32*len(items))
	for n, i := range items {
		b = appendName(b, n, i.name)
		b = strconv.AppendInt(append(b, ";r="...), i.left(), 10)
		b = strconv.AppendInt(append(b, ";t="...), seconds(i.reset), 10)
	}
	return string(b)
}

// appendName writes an RFC 9651 string; names are printable ASCII by construction.
func appendName(b []byte, n int, name string) []byte {
	if n > 0 {
		b = append(b, ", "...)
	}
	b = append(b, '"')
	for i := range len(name) {
		if name[i] == '"' || name[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return append(b, '"')
}

func legacyPolicies(items []headerItem) string {
	var b []byte
	for n, i := range items {
		if n > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, i.quota, 10)
		if i.window >= time.Second {
			b = strconv.AppendInt(append(b, ";w="...), seconds(i.window), 10)
		}
	}
	return string(b)
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
