package redisstore

import (
	"testing"
	"time"
)

func TestFlightsFollowTheDistance(t *testing.T) {
	for _, test := range []struct {
		trips  []time.Duration // negative: one that failed
		expect int
	}{
		{nil, 2},
		{[]time.Duration{40 * time.Microsecond}, 2},
		{[]time.Duration{850 * time.Microsecond}, 8},
		{[]time.Duration{time.Second}, 16},
		{[]time.Duration{5 * time.Millisecond, 400 * time.Microsecond, 3 * time.Millisecond}, 4},                 // a busy server is no nearer
		{[]time.Duration{100 * time.Microsecond, -time.Millisecond, time.Millisecond, 2 * time.Millisecond}, 10}, // another server
	} {
		var d trip
		for _, took := range test.trips {
			d.note(took, took < 0)
		}
		if got := d.flights(); got != test.expect {
			t.Errorf("after calls of %v: %d flights, want %d", test.trips, got, test.expect)
		}
	}
}
