package redisstore

import (
	"fmt"
	"testing"
)

// The check value of CRC16-XMODEM, and slots that Redis' own documentation gives. That the server
// agrees on all tags is a test over a Cluster.
func TestSlotOfTag(t *testing.T) {
	for tag, want := range map[string]int{"123456789": 0x31C3, "foo": 12182, "": 0} {
		if got := slotOf(tag); got != want {
			t.Errorf("slot of %q is %d, want %d", tag, got, want)
		}
	}
}

func TestEachTagHasItsSliceOfTheSlots(t *testing.T) {
	for i, name := range tagNames {
		if at := slotOf(name) / (slots / tagCount); at != i {
			t.Errorf("tag %d, %q, lies in slice %d", i, name, at)
		}
	}
}

// Keys that differ only at their ends, as those of one level do, use all tags alike.
func TestKeysUseAllTagsAlike(t *testing.T) {
	for name, key := range map[string]func(i int) string{
		"numbers":   func(i int) string { return fmt.Sprintf("1t:api::user:1m:%d", i) },
		"addresses": func(i int) string { return fmt.Sprintf("1t:api:GET /v1/orders:ip:1s:10.1.%d.%d", i>>8&255, i&255) },
		"last byte": func(i int) string { return fmt.Sprintf("1t:api::user:1m:%032x", i) },
	} {
		var hits [tagCount]int
		const n = 256 * 200
		for i := range n {
			hits[tagOf(key(i))]++
		}
		for tag, h := range hits {
			if h < 100 || h > 300 {
				t.Errorf("%s: tag %d has %d of %d keys, want about 200", name, tag, h, n)
			}
		}
	}
}
