package core

import (
	"maps"
	"math"
	"testing"
	"time"
)

func written(f HeaderFormat, items ...headerItem) map[string]string {
	return maps.Collect(fieldList{}.add(f, items, time.Unix(1767225600, 250_000_000)).each)
}

func shown(name string, quota int64, window time.Duration, remaining int64, reset time.Duration) headerItem {
	limit := Per(quota, window)
	return headerItem{
		limit:   &planLimit{Limit: limit, name: name, item: newPolicyItem(name, limit)},
		outcome: &Outcome{Remaining: remaining, ResetAfter: reset},
	}
}

func TestSerializerWritesStructuredFields(t *testing.T) {
	item := func(remaining int64, reset, window time.Duration) headerItem {
		return shown("a", 10, window, remaining, reset)
	}
	for _, c := range []struct {
		name          string
		items         []headerItem
		policy, limit string
	}{
		{
			"quotes and backslashes are escaped, a window rounds up",
			[]headerItem{shown(`a"b\c`, 1, 1500*time.Millisecond, 1, 0)},
			`"a\"b\\c";q=1;w=2`, `"a\"b\\c";r=1;t=0`,
		},
		{"no window below a second", []headerItem{item(1, 1, time.Second-1)}, `"a";q=10`, `"a";r=1;t=1`},
		{"a second is a window", []headerItem{item(1, 1, time.Second)}, `"a";q=10;w=1`, `"a";r=1;t=1`},
		{"a nanosecond more is two", []headerItem{item(1, time.Second+1, time.Second+1)}, `"a";q=10;w=2`, `"a";r=1;t=2`},
		{"never negative", []headerItem{item(-1, -1, time.Second)}, `"a";q=10;w=1`, `"a";r=0;t=0`},
		{"never above the quota", []headerItem{item(11, 0, time.Second)}, `"a";q=10;w=1`, `"a";r=10;t=0`},
		{"largest wait", []headerItem{item(0, math.MaxInt64, time.Second)}, `"a";q=10;w=1`, `"a";r=0;t=9223372037`},
		{
			"a list",
			[]headerItem{item(1, 1, time.Second), shown("b", 20, time.Minute, 2, 0)},
			`"a";q=10;w=1, "b";q=20;w=60`, `"a";r=1;t=1, "b";r=2;t=0`,
		},
	} {
		got := written(RateLimit, c.items...)
		if got["RateLimit-Policy"] != c.policy || got["RateLimit"] != c.limit || len(got) != 2 {
			t.Errorf("%s:\n got %v\nwant %s and %s", c.name, got, c.policy, c.limit)
		}
	}
}

func TestOlderFormatsLeaveOutWhatTheyCannotSay(t *testing.T) {
	short := shown("a", 10, 100*time.Millisecond, -1, -1)
	if got := written(RateLimitDraft07, short); got["RateLimit-Policy"] != "10" || got["RateLimit"] != "limit=10, remaining=0, reset=0" {
		t.Errorf("draft-07: %v", got)
	}
	if got := written(RateLimitDraft06, short, shown("b", 5, time.Minute, 1, 1)); got["RateLimit-Policy"] != "10, 5;w=60" || got["RateLimit-Reset"] != "0" {
		t.Errorf("draft-06: %v", got)
	}
	over := shown("a", 10, time.Second, 11, 0)
	for _, f := range []HeaderFormat{RateLimitDraft06, XRateLimitDelta, XRateLimitEpoch} {
		got := written(f, over)
		if left := got["RateLimit-Remaining"] + got["X-RateLimit-Remaining"]; left != "10" {
			t.Errorf("%v: %s left of 10", f, left)
		}
	}
	if got := written(XRateLimitEpoch, over)["X-RateLimit-Reset"]; got != "1767225601" {
		t.Errorf("an epoch reset of now is %s, want the second that has not passed", got)
	}
	if got := ceilUnix(time.Unix(1767225600, 0)); got != 1767225600 {
		t.Errorf("a whole second rounds to %d", got)
	}
}

func TestFormatNamesReadBack(t *testing.T) {
	for f := RateLimit; f <= XRateLimitEpoch; f++ {
		if got, ok := ParseHeaderFormat(f.String()); !ok || got != f {
			t.Errorf("%v reads back as %v, %v", f, got, ok)
		}
	}
	if _, ok := ParseHeaderFormat("RateLimit"); ok {
		t.Error("a name in other letters is accepted")
	}
	if s := HeaderFormat(99).String(); s != "unknown header format" {
		t.Error(s)
	}
}
