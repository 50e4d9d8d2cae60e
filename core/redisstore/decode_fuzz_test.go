package redisstore

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// decoded are limits of every kind of answer.
var decoded = []core.Limit{
	core.PerMinute(5), core.PerHour(1).WithBurst(24 * 365 * 1000), core.PerMinute(5).With(core.LeakyBucket), core.PerMinute(5).WithStart(2),
	core.PerMinute(5).WithStep(5), core.PerMinute(5).With(core.FixedWindow), core.PerCalendar(5, core.Monthly, nil),
	core.PerMinute(5).With(core.SlidingWindow), core.Per(1<<32-1, time.Hour).With(core.SlidingWindow).WithOffset(time.Second), core.PerMinute(5).With(core.SlidingLog),
}

// FuzzDecode: whatever a server answers, nothing panics and no bucket promises what it cannot hold. A
// reply is integers, eight bytes each; checks chooses limits, costs and operations.
func FuzzDecode(f *testing.F) {
	reply := func(numbers ...int64) (raw []byte) {
		for _, n := range numbers {
			raw = binary.BigEndian.AppendUint64(raw, uint64(n))
		}
		return raw
	}
	all := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	f.Add(all, reply(1_790_000_000, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add(all, reply(1_790_000_000, 5, 12e9, -12e9, 7, 12e9, 12e9, 3, 3, 3, 2, 2, 3, 5, 1_789_999_999_000_000, 1_789_999_999_500_000))
	f.Add(all, reply(-1<<63, 1<<63-1, -1<<63, -1<<63, 1<<63-1, -1, 1<<63-1, -1<<63, 1<<63-1, -1<<63, 1<<63-1, -1<<63, 1<<63-1, -1<<63, 1<<63-1))
	f.Add([]byte{7, 8, 9}, reply(0, 0, -5, 1<<62, 1<<62, -5, -5, 1<<62, 1<<62))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, checks, raw []byte) {
		s := Must(&hung{}, WithDenyCache(time.Second))
		var b batch
		var outs [][]core.Outcome
		for i, c := range checks[:min(len(checks), 20)] {
			bucket := core.Bucket{Key: string(rune('a' + i)), Limit: decoded[int(c)%len(decoded)], Cost: 1 + int64(c)/100, Shadow: c&64 != 0}
			op, out := opTake, make([]core.Outcome, 1)
			if c&32 != 0 {
				op, out[0].Charged = opRefund, true
			} else if c&16 != 0 {
				op = opPeek
			}
			call, err := s.hangar.newCall(op, []core.Bucket{bucket}, out)
			if err != nil {
				t.Fatal(err)
			}
			b.calls, outs = append(b.calls, call), append(outs, out)
		}
		b.encode("p:", "", "")
		var numbers []int64
		for ; len(raw) >= 8; raw = raw[8:] {
			numbers = append(numbers, int64(binary.BigEndian.Uint64(raw)))
		}
		if !b.decode(numbers) {
			return
		}
		for i, c := range b.calls {
			if c.op.judges() {
				s.denials.learn(c)
				c.outcomes(outs[i], c.admitted())
				checkDecoded(t, &outs[i][0])
			}
			c.giveBack(false)
		}
		b.clear()
	})
}

func checkDecoded(t *testing.T, o *core.Outcome) {
	if o.Remaining < 0 || o.RetryAfter < 0 || o.ResetAfter < 0 || o.Delay < 0 || (o.Charged && !o.Admits) || (o.Admits && o.RetryAfter != 0) {
		t.Errorf("%+v", *o)
	}
}
