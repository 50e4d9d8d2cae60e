package policyfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

const (
	wantLimit = "NUMBER/PERIOD such as 300/min or 5/15min, or unlimited, or block"
	wantUnit  = "ms, s, sec, second, min, minute, h, hour, d or day"
)

var maxUnits = strconv.FormatInt(tokenbucket.MaxUnits, 10)

// units lacks "m", which is a minute to some and a month to others, and all units whose length
// a calendar decides.
var units = map[string]time.Duration{
	"ms": time.Millisecond,
	"s":  time.Second, "sec": time.Second, "second": time.Second,
	"min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour,
}

// parseLimit reads "300/min", "5/15min", "unlimited" or "block".
func parseLimit(s string) (core.Limit, error) {
	switch s {
	case "unlimited":
		return core.Unlimited, nil
	case "block":
		return core.BlockAll, nil
	}
	number, rest, ok := strings.Cut(s, "/")
	if !ok || rest == "" {
		return core.Limit{}, fmt.Errorf("%s has no period, want %s", quote(s), wantLimit)
	}
	if !plainDigits(number) {
		return core.Limit{}, fmt.Errorf("%s has no number in plain digits before the slash, want %s", quote(s), wantLimit)
	}
	quota, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return core.Limit{}, fmt.Errorf("quota is %s, want 1 to %s", shorten(number), maxUnits)
	}
	period, err := parsePeriod(rest)
	if err != nil {
		return core.Limit{}, err
	}
	limit := core.Per(quota, period)
	return limit, limit.Validate()
}

func parsePeriod(s string) (time.Duration, error) {
	unit := strings.TrimLeft(s, "0123456789")
	count := int64(1)
	if number := s[:len(s)-len(unit)]; number != "" {
		if !plainDigits(number) {
			return 0, fmt.Errorf("the period %s begins with a zero, want plain digits", quote(s))
		}
		count, _ = strconv.ParseInt(number, 10, 64) // the largest where it does not fit, too long below
	}
	length, ok := units[unit]
	switch {
	case unit == "":
		return 0, fmt.Errorf("the period %s has no unit, want %s", quote(s), wantUnit)
	case unit == "m":
		return 0, fmt.Errorf("the unit %s is a minute or a month, want min", quote(unit))
	case !ok:
		return 0, fmt.Errorf("the unit %s is unknown, want %s", quote(unit), wantUnit)
	}
	if longest := int64(1<<63-1) / int64(length); count > longest {
		return 0, fmt.Errorf("the period %s is too long, want at most %d%s", quote(s), longest, unit)
	}
	return time.Duration(count) * length, nil
}
