package redisstore

import (
	"hash/fnv"
	"io"
	"slices"
	"strconv"
)

// In a Cluster a script may touch one slot only. A bucket's key is therefore given one of a few
// hash tags, by its hash: few, so that the checks which meet in a queue form few script calls, and
// each in a slice of the slots of its own, so that every primary gets its part of them.
const (
	slots    = 16384
	tagCount = 256
)

// tagNames are for good: another choice would find none of the buckets that are there.
var tagNames = spreadTags()

// spreadTags finds the first number, in base 36, whose slot lies in each slice.
func spreadTags() (names [tagCount]string) {
	for n, found := 0, 0; found < tagCount; n++ {
		name := strconv.FormatInt(int64(n), 36)
		if at := slotOf(name) / (slots / tagCount); names[at] == "" {
			names[at] = name
			found++
		}
	}
	return names
}

// slotOf is where Redis puts the keys of a tag: CRC16-XMODEM.
func slotOf(tag string) int {
	crc := uint16(0)
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			carry := crc & 0x8000
			crc <<= 1
			if carry != 0 {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % slots)
}

// tagOf is the index of the tag of a bucket's key. The last bytes of a key reach only some bits
// of its hash, so all of them are folded into one.
func tagOf(key string) uint8 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, key)
	sum := h.Sum64()
	sum ^= sum >> 32
	sum ^= sum >> 16
	return uint8(sum ^ sum>>8)
}

// byTag splits the batch into those of one tag each. Within a tag the checks keep their order.
func (b *batch) byTag() []*batch {
	slices.SortStableFunc(b.calls, func(x, y *call) int { return int(x.tag) - int(y.tag) })
	n := 0
	for from, to := 0, 0; from < len(b.calls); from = to {
		for to = from + 1; to < len(b.calls) && b.calls[to].tag == b.calls[from].tag; {
			to++
		}
		if n == len(b.tags) {
			b.tags = append(b.tags, new(batch))
		}
		b.tags[n].calls = b.calls[from:to]
		n++
	}
	return b.tags[:n]
}
