package core_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Zero and negative numbers are mistakes, whatever else is right: none of them means "all" or
// "nothing". The error names the first field that is wrong.
func TestOnlyPositiveNumbersMakeALimit(t *testing.T) {
	numbers := []int64{0, -1, 1}
	for _, quota := range numbers {
		for _, burst := range numbers {
			for _, period := range numbers {
				l := core.Limit{Quota: quota, Burst: burst, Period: time.Duration(period)}
				err := l.Validate()
				_, newErr := core.New(scripted(), core.Policy{core.Global(l)})
				want := ""
				switch {
				case quota != 1:
					want = "quota"
				case period != 1:
					want = "period"
				case burst == -1:
					want = "burst"
				}
				if want == "" {
					if err != nil || newErr != nil {
						t.Errorf("%+v: %v, %v", l, err, newErr)
					}
					continue
				}
				if err == nil || !strings.HasPrefix(err.Error(), want+" is ") {
					t.Errorf("%+v: error is %v, want one about the %s", l, err, want)
				}
				if newErr == nil || !strings.Contains(newErr.Error(), `level "global": limits[0]: `+want+" is ") {
					t.Errorf("%+v: New says %v, want the place and the %s", l, newErr, want)
				}
			}
		}
	}
}

func TestLimitsBeyondCountingAreRefused(t *testing.T) {
	for want, l := range map[string]core.Limit{
		"quota is 1000000001 per 1s":    core.PerSecond(1_000_000_001),
		"quota is 2 per 1ns":            core.Per(2, 1),
		"quota is 1000000000001":        core.PerDay(1_000_000_000_001),
		"quota is 9223372036854775807":  core.PerDay(math.MaxInt64),
		"burst is 1000000000001":        core.PerDay(1).WithBurst(1_000_000_000_001),
		"burst is 1000000000000, which": core.Per(1, 365*24*time.Hour).WithBurst(1_000_000_000_000),
		"algorithm is 5":                core.PerDay(1).With(core.SlidingLog + 1),
		"algorithm is 255":              core.PerDay(1).With(255),
	} {
		if err := l.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: error is %v, want %q", l, err, want)
		}
	}
	for _, l := range []core.Limit{core.PerSecond(1_000_000_000), core.Per(1, 1), core.PerDay(1_000_000_000_000).WithBurst(1), core.Per(1, 30*24*time.Hour).WithBurst(1_000_000_000)} {
		if err := l.Validate(); err != nil {
			t.Errorf("%v: %v", l, err)
		}
	}
}

func TestUnlimitedAndBlockAllTakeNoNumbers(t *testing.T) {
	for _, l := range []core.Limit{core.Unlimited, core.BlockAll} {
		if err := l.Validate(); err != nil {
			t.Errorf("%v: %v", l, err)
		}
		quota, period := l, l
		quota.Quota, period.Period = 1, 1
		for _, bad := range []core.Limit{l.WithBurst(1), l.With(core.SlidingLog), quota, period} {
			if bad.Validate() == nil {
				t.Errorf("%#v is accepted", bad)
			}
		}
	}
}

func TestLimitsSayWhatTheyAre(t *testing.T) {
	for want, l := range map[string]core.Limit{
		"1 per 1s":                        core.PerSecond(1),
		"2 per 1m0s":                      core.PerMinute(2),
		"3 per 1h0m0s":                    core.PerHour(3),
		"4 per 24h0m0s":                   core.PerDay(4),
		"5 per 15m0s burst 2":             core.Per(5, 15*time.Minute).WithBurst(2),
		"5 per 1s":                        core.PerSecond(5).WithBurst(5),
		"5 per 1s (sliding_log)":          core.PerSecond(5).With(core.SlidingLog),
		"unlimited":                       core.Unlimited,
		"block all":                       core.BlockAll,
		"0 per 0s":                        {},
		"1 per 1s burst 7 (leaky_bucket)": core.PerSecond(1).WithBurst(7).With(core.LeakyBucket),
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if core.PerSecond(5).Capacity() != 5 || core.PerSecond(5).WithBurst(2).Capacity() != 2 || core.PerSecond(5).WithBurst(9).Capacity() != 9 {
		t.Error("capacity is the burst, or the quota without one")
	}
}

func TestAlgorithmNamesReadBack(t *testing.T) {
	for i, name := range []string{"token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"} {
		a, ok := core.ParseAlgorithm(name)
		if !ok || int(a) != i || a.String() != name || a != everyAlgorithm[i] {
			t.Errorf("%s reads as %v, %v", name, a, ok)
		}
	}
	if a, ok := core.ParseAlgorithm("Token_Bucket"); ok || a != core.TokenBucket {
		t.Errorf("another spelling reads as %v, %v", a, ok)
	}
	if s := core.Algorithm(99).String(); s != "unknown algorithm" {
		t.Error(s)
	}
}
