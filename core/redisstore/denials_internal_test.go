package redisstore

import (
	"testing"
	"time"
)

// Buckets of one request are learnt in one instant, which may be the store's first, and may have
// all their places in common.
func TestBucketsThatMeetInOneGroupAreAllRemembered(t *testing.T) {
	d := denials{age: int64(time.Second)}
	d.open(func() time.Time { return time.Unix(1_790_000_000, 0) })
	table := new(memories)
	now := d.now()
	for i := range uint64(memoryWays) {
		hash := 77<<8 | (i+1)<<40
		m, _ := table.place(hash)
		m.store(hash, owed{full: now + 5, since: now})
	}
	for i := range uint64(memoryWays) {
		if o, ok := d.recall(table, 77<<8|(i+1)<<40, now); !ok || o.full != now+5 {
			t.Errorf("bucket %d: %+v, %v", i, o, ok)
		}
	}
}
