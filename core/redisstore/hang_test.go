package redisstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// What the store may hold while Redis hangs, beside its callers themselves.
const (
	mostUnderWay   = 10      // calls, in time or given up
	mostGoroutines = 60      // those of the calls, and what go-redis dials
	mostWaiting    = 2 << 10 // bytes of a request that waits
	mostLeft       = 2 << 20 // bytes, when nobody waits any more: buffers of batches and connections
)

const hangRequests = 20_000

// breed makes the runtime have as many goroutines as there will be: it keeps them, and they are not ours.
func breed() { together(hangRequests, func(int) {}) }

// hangs are how a service may have set its client up that hold a call for the longest.
var hangs = []string{"default", "no timeouts"}

// crowd is requests of a thousand users. They share their endpoint.
func crowd() func(i int) []core.Bucket {
	users := make([][]core.Bucket, 1000)
	for i := range users {
		users[i] = levels(fmt.Sprint(i))
	}
	return func(i int) []core.Bucket { return users[i%len(users)] }
}

func heap() int64 {
	var m runtime.MemStats
	for range 2 { // what pools hold takes two
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Requests that wait for a Redis that hangs cost little each. When it goes on each is charged once, and
// nothing is left of them.
func TestRequestsThatWaitCostLittle(t *testing.T) {
	for _, name := range hangs {
		server := redistest.Start(t)
		client := connect(t, server.Addr(), clients[name])
		warm(t, client, 4)
		s, request := open(t, client, redisstore.WithBudget(time.Minute)), crowd()
		take(t, s, request(0)...)
		server.Stop()
		held := occupy(t, s)
		breed()
		goroutines, before := runtime.NumGoroutine(), heap()
		var wg sync.WaitGroup
		var charged atomic.Int64
		for i := range hangRequests {
			wg.Go(func() {
				if out, err := try(s, request(i)...); err == nil && out[0].Charged {
					charged.Add(1)
				}
			})
		}
		waits(t, s, hangRequests)
		each, more := (heap()-before)/hangRequests, runtime.NumGoroutine()-goroutines-hangRequests
		server.Cont()
		wg.Wait()
		held()
		idle(t, s)
		left := heap() - before
		t.Logf("%s: %d requests that waited held %d bytes each, and %d goroutines beside theirs; %d bytes are left", name, hangRequests, each, more, left)
		if each > mostWaiting || more > mostGoroutines || left > mostLeft {
			t.Errorf("%s: want %d bytes each, %d goroutines and %d bytes left at most", name, mostWaiting, mostGoroutines, mostLeft)
		}
		if n := charged.Load(); n != hangRequests {
			t.Errorf("%s: %d requests charged, want %d", name, n, hangRequests)
		}
		if o := peek(t, s, request(0)[2]); o.Remaining != 1_000_000-1-hangRequests {
			t.Errorf("%s: %d left of what all share, want each charged once", name, o.Remaining)
		}
	}
}

// While Redis hangs requests go on coming, and go: what is held are those of one budget and a few calls,
// and when Redis goes on, nothing.
func TestRequestsDuringAHangLeaveNothing(t *testing.T) {
	for _, name := range hangs {
		server := redistest.Start(t)
		client := connect(t, server.Addr(), clients[name])
		warm(t, client, 4)
		s, request := open(t, client), crowd()
		eventually(t, 5*time.Second, "a healthy check", func() bool { _, err := try(s, request(0)...); return err == nil })
		idle(t, s)
		breed()
		goroutines, before := runtime.NumGoroutine(), heap()
		server.Stop()
		var wg sync.WaitGroup
		var inside, answered atomic.Int64
		var under, waiting, callers, more int
		start := time.Now()
		for i := range hangRequests {
			inside.Add(1)
			wg.Go(func() {
				defer inside.Add(-1)
				if _, err := try(s, request(i)...); err == nil {
					answered.Add(1)
				}
			})
			if i%200 == 0 {
				time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / hangRequests)))
				flights, overdue, queued := s.Queue()
				now := int(inside.Load())
				under, waiting, callers = max(under, flights+overdue), max(waiting, queued), max(callers, now)
				more = max(more, runtime.NumGoroutine()-goroutines-now)
			}
		}
		took := time.Since(start)
		wg.Wait()
		eventually(t, 5*time.Second, "those who have left wait no more", func() bool { _, _, queued := s.Queue(); return queued == 0 })
		hung := heap() - before
		server.Cont()
		recovers(t, s, 3*time.Second)
		idle(t, s)
		left := heap() - before
		t.Logf("%s: %d requests in %v: at most %d at a time, %d of them waiting, %d calls under way, %d goroutines beside; %d bytes are held when they have gone and %d when Redis goes on",
			name, hangRequests, took.Round(time.Millisecond), callers, waiting, under, more, hung, left)
		if under > mostUnderWay || waiting > hangRequests/2 || more > mostGoroutines || hung > mostLeft || left > mostLeft {
			t.Errorf("%s: want %d waiting, %d calls, %d goroutines and %d bytes at most", name, hangRequests/2, mostUnderWay, mostGoroutines, mostLeft)
		}
		if n := answered.Load(); n > 0 {
			t.Errorf("%s: %d requests were answered", name, n)
		}
		eventually(t, 10*time.Second, "end of the goroutines", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	}
}

// The most that a script call may carry.
const (
	mostChecks = 128
	mostKeys   = 1024
	mostBytes  = 512 << 10
)

// weigh notes the largest script call of a client.
type weigh struct {
	redisstore.Client
	calls, keys, bytes atomic.Int64
}

func (w *weigh) Process(ctx context.Context, cmd redis.Cmder) error {
	bytes := 0
	for _, arg := range cmd.Args() {
		if s, ok := arg.(*string); ok {
			bytes += len(*s)
		}
	}
	w.calls.Add(1)
	w.bytes.Store(max(w.bytes.Load(), int64(bytes)))
	if n, ok := cmd.Args()[2].(int); ok {
		w.keys.Store(max(w.keys.Load(), int64(n)))
	}
	return w.Client.Process(ctx, cmd)
}

// However many checks wait, of however many buckets with keys as long as they may be, a call carries no more
// than keeps Redis busy for a moment.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	const long = 384
	for buckets, calls := range map[int]int64{1: 8, 3: 8, 10: 11, 100: 103} {
		server := redistest.Start(t)
		w := &weigh{Client: server.Client(t)}
		g := &gate{Client: w}
		s := open(t, g, redisstore.WithBudget(patient), redisstore.WithPrefix(fmt.Sprintf("%064d", 0)))
		release := hold(t, s, g)
		var wg sync.WaitGroup
		const checks = 8 * mostChecks
		for i := range checks {
			wg.Go(func() {
				all := make([]core.Bucket, buckets)
				for j := range all {
					all[j] = bucket("", core.PerHour(int64(1+j%5)))
					all[j].Key = fmt.Sprintf("%0*d", long, i*buckets+j)
				}
				take(t, s, all...)
			})
		}
		waits(t, s, checks)
		release()
		wg.Wait()
		t.Logf("%d checks of %d buckets: %d calls of at most %d keys and %d bytes", checks, buckets, w.calls.Load(), w.keys.Load(), w.bytes.Load())
		if n := w.calls.Load(); n < calls || w.keys.Load() > mostKeys || w.bytes.Load() > mostBytes {
			t.Errorf("want %d calls at least of %d keys and %d bytes at most", calls, mostKeys, mostBytes)
		}
	}
}
