package fallback

import (
	"slices"
	"testing"
	"time"
)

func TestWhatCountOneGoesBy(t *testing.T) {
	const failed = -1
	for name, c := range map[string]struct{ counts, want []int64 }{
		"steady":                          {[]int64{4, 4, 4}, []int64{4, 4, 4}},
		"start together":                  {[]int64{1, 4, 4, 4}, []int64{1, 4, 4, 4}},
		"one joins":                       {[]int64{4, 4, 4, 5, 5}, []int64{4, 4, 4, 4, 5}},
		"one leaves":                      {[]int64{4, 4, 4, 3, 3}, []int64{4, 4, 4, 4, 3}},
		"all were counted twice once":     {[]int64{4, 4, 4, 8, 4, 4}, []int64{4, 4, 4, 4, 4, 4}},
		"a store that lost its memory":    {[]int64{4, 4, 4, 1, 4, 4}, []int64{4, 4, 4, 4, 4, 4}},
		"an outage":                       {[]int64{4, 4, 4, failed, failed, 1, 2, 4, 4, 4}, []int64{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
		"an outage in which one has left": {[]int64{4, 4, 4, failed, 1, 2, 3, 3, 3}, []int64{4, 4, 4, 4, 4, 4, 4, 4, 3}},
		"an outage in which one has come": {[]int64{4, 4, 4, failed, 5, 5}, []int64{4, 4, 4, 4, 5, 5}},
		"started in an outage":            {[]int64{failed, failed, 2, 3, 4}, []int64{0, 0, 2, 3, 4}},
	} {
		var r readings
		now, count, got := int64(1), int64(0), []int64(nil)
		for _, n := range c.counts {
			now += int64(countEvery - time.Millisecond)
			if n == failed {
				r.failed(now)
			} else {
				count = r.take(n, count, now)
			}
			got = append(got, count)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: counts of %v are taken for %v, want %v", name, c.counts, got, c.want)
		}
	}
}
