package redisstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// clients are what users hand over, from the defaults to one that would wait for ever.
var clients = map[string]*redis.Options{
	"default":     nil,
	"context":     {ContextTimeoutEnabled: true},
	"tuned":       {ContextTimeoutEnabled: true, MaxRetries: -1, DialTimeout: 250 * time.Millisecond, DialerRetries: 1, ReadTimeout: 100 * time.Millisecond},
	"no timeouts": {ReadTimeout: -1, WriteTimeout: -1, PoolTimeout: time.Hour, MaxRetries: 3},
}

// A lost reply leaves it open whether the request was charged. Nobody may ask again: that could
// charge it twice.
func TestLostReplyChargesAtMostOnce(t *testing.T) {
	for name, opt := range clients {
		for _, mode := range []redistest.Mode{redistest.SwallowReplies, redistest.HalfReply} {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				server := redistest.Start(t)
				proxy := redistest.StartProxy(t, server.Addr())
				client := connect(t, proxy.Addr(), opt)
				s, direct := open(t, client), open(t, server.Client(t), redisstore.WithBudget(patient))
				b := costing(bucket("b", core.PerHour(100)), 3)
				warm(t, client, 6) // connections enough for as many retries
				server.Do(t, "CONFIG", "RESETSTAT")
				proxy.SetMode(mode)
				j := measureJitter(t)
				start := time.Now()
				_, err := try(s, b)
				took := time.Since(start)
				if err == nil || core.FaultOf(err) != core.FaultStore {
					t.Errorf("error %v, want the store's", err)
				}
				j.within(t, defaultBudget, took)
				time.Sleep(4 * defaultBudget) // time for a repetition
				if n := calls(t, server); n["evalsha"]+n["eval"] > 1 {
					t.Errorf("%d script calls for one request", n["evalsha"]+n["eval"])
				}
				proxy.Heal()
				if o := peek(t, direct, b); o.Remaining < 97 {
					t.Errorf("%d left of 100 after one request of 3", o.Remaining)
				}
				eventually(t, 10*time.Second, "answer after the network has healed", func() bool {
					_, err := try(s, bucket("other", core.PerHour(1_000_000)))
					return err == nil
				})
				if o := peek(t, direct, b); o.Remaining < 97 {
					t.Errorf("%d left of 100 after the network has healed", o.Remaining)
				}
			})
		}
	}
}

// An answer that comes after its caller has left was charged for nothing.
func TestChargeOfALateAnswerIsGivenBack(t *testing.T) {
	t.Parallel()
	const budget = 400 * time.Millisecond
	for _, name := range []string{"default", "no timeouts"} { // the others give up on the answer with the caller
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client := connect(t, server.Addr(), clients[name])
			warm(t, client, 2)
			s, direct := open(t, client, redisstore.WithBudget(budget)), open(t, server.Client(t), redisstore.WithBudget(patient))
			shadow, denied := bucket("shadow", core.PerHour(10)), bucket("denied", core.PerHour(1))
			shadow.Shadow = true
			buckets := []core.Bucket{bucket("a", core.PerHour(10)), costing(bucket("b", core.PerHour(10)), 4)}
			beside := costing(bucket("beside", core.PerHour(10)), 3)
			take(t, direct, denied, buckets[1], beside)

			server.Stop()
			var wg sync.WaitGroup
			wg.Go(func() { tooLate(t, s, buckets...) })
			wg.Go(func() { tooLate(t, s, shadow, denied, beside) }) // charges the shadow bucket alone
			wg.Wait()
			server.Cont()
			eventually(t, 5*time.Second, "charges given back", func() bool {
				return peek(t, direct, buckets[0]).Remaining == 10 && peek(t, direct, buckets[1]).Remaining == 6 &&
					peek(t, direct, shadow).Remaining == 10 && peek(t, direct, denied).Remaining == 0
			})
			time.Sleep(50 * time.Millisecond)
			if got, also := peek(t, direct, buckets[1]).Remaining, peek(t, direct, beside).Remaining; got != 6 || also != 7 {
				t.Errorf("%d and %d left, want 6 and 7: what others spent is not given back", got, also)
			}
		})
	}
}

func tooLate(t *testing.T, s core.Store, buckets ...core.Bucket) {
	if _, err := try(s, buckets...); err == nil || core.FaultOf(err) != core.FaultStore {
		t.Errorf("error %v, want the budget's", err)
	}
}

// A caller that leaves while its check still waits for a call is not charged, and costs Redis
// nothing.
func TestCheckAbandonedInTheQueueIsNeverSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	warm(t, client, 1)
	g := &gate{Client: client}
	s := open(t, g, redisstore.WithBudget(patient))
	ctx, cancel := context.WithCancel(context.Background())
	release := hold(t, s, g)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			err := s.Take(ctx, []core.Bucket{bucket("b", core.PerHour(100))}, make([]core.Outcome, 1))
			if core.FaultOf(err) != core.FaultCaller || !errors.Is(err, context.Canceled) {
				t.Errorf("error %v of fault %v, want the caller's", err, core.FaultOf(err))
			}
		})
	}
	waits(t, s, 50)
	cancel()
	wg.Wait()
	release()
	idle(t, s)
	if n := g.count.Load(); n != 2 {
		t.Errorf("%d commands, want 2: those that were held", n)
	}
	if n := server.Do(t, "DBSIZE"); n != int64(1) {
		t.Errorf("%v keys, want only the one from before", n)
	}
}
