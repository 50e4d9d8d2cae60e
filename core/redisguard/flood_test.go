package redisguard

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

var (
	floodKeys = flag.Int("flood", 100_000, "distinct keys of TestFlood")
	floodRate = flag.Int("rate", 0, "keys a second of TestFlood; 0: as many as there can be")
)

// A flood of keys that are seen once, through the sketches of floodguard's test: neither Redis nor this
// process takes more memory, nobody is refused, and the small one says what it is.
func TestFlood(t *testing.T) {
	const threshold, delta = 30, 0.01
	t.Log("redis_bytes_a_slice,replica_bytes,keys,seconds,keys_per_second,error,too_small,share_checked,share_refused,exchanged_ms,redis_growth,heap_growth")
	for _, memory := range []int{1 << 20, 64 << 20} {
		server := redistest.Start(t)
		g := open(t, server.Client(t), WithError(math.E/(float64(memory-20_000)/60), delta), WithThreshold(threshold), WithWindow(23*time.Hour), WithClockSkew(0))
		eventually(t, 10*time.Second, "connected", func() bool { return g.Stats().Connected })
		time.Sleep(2 * g.interval)
		key := g.name(g.current.Load().cur.index)
		redisBefore, heapBefore, start := used(t, server), heap(), time.Now()
		var by [3]int
		text := []byte("1t:shop::ip:60s:")
		prefix, slowest := len(text), time.Duration(0)
		for i := range *floodKeys {
			if *floodRate > 0 && i%100 == 0 {
				time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(*floodRate))))
			}
			text = strconv.AppendInt(text[:prefix], int64(i), 10)
			v, _ := g.Admit(unsafe.String(&text[0], len(text)), 1)
			by[v]++
			if i%1000 == 0 {
				slowest = max(slowest, g.Stats().Exchanged)
			}
		}
		took, n := time.Since(start), float64(*floodKeys)
		eventually(t, time.Minute, "all is sent", func() bool {
			v := g.current.Load()
			return v.cur.sent.Load() == uint64(*floodKeys) && v.cur.total() == uint64(*floodKeys)
		})
		s := g.Stats()
		redisAfter, heapAfter := used(t, server), heap()
		t.Logf("%d,%d,%d,%.2f,%.0f,%d,%v,%.6f,%.6f,%d,%d,%d", s.RedisMemory, s.Memory, *floodKeys, took.Seconds(), n/took.Seconds(), s.Error, s.TooSmall,
			float64(by[core.CheckKey])/n, float64(by[core.RefuseKey])/n, slowest.Milliseconds(), redisAfter-redisBefore, heapAfter-heapBefore)
		if size := server.Do(t, "STRLEN", key).(int64); int(size) != s.RedisMemory {
			t.Errorf("the slice takes %d bytes, want %d", size, s.RedisMemory)
		}
		if grown := redisAfter - redisBefore; grown > 300_000 {
			t.Errorf("Redis took %d bytes more", grown)
		}
		if grown := heapAfter - heapBefore; grown > 2_000_000 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
		if by[core.RefuseKey] != 0 || s.TooSmall != (s.Error >= threshold) {
			t.Errorf("%v refused, %+v", by[core.RefuseKey], s)
		}
		_ = g.Close()
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// used is the memory that Redis says it takes, but for what it holds for connections.
func used(t *testing.T, server *redistest.Server) (n int) {
	t.Helper()
	for line := range strings.SplitSeq(fmt.Sprint(server.Do(t, "INFO", "memory")), "\r\n") {
		if text, ok := strings.CutPrefix(line, "used_memory_dataset:"); ok {
			n, _ = strconv.Atoi(text)
		}
	}
	return n
}
