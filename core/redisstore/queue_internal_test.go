package redisstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// hung is a client that returns when its context ends, at the very moment at which the queue
// gives up on it, until it is told to answer.
type hung struct{ answers atomic.Bool }

func (h *hung) Process(ctx context.Context, cmd redis.Cmder) error {
	if h.answers.Load() {
		cmd.(once).SetVal([]int64{1_790_000_000, 0, 0})
		return nil
	}
	<-ctx.Done()
	return errors.New("timed out")
}

func TestCallsThatEndAsTheyAreGivenUpOnAreNotOutForEver(t *testing.T) {
	client := new(hung)
	s := Must(client, WithBudget(time.Millisecond))
	buckets, out := []core.Bucket{{Key: "k", Limit: core.PerSecond(10), Cost: 1}}, make([]core.Outcome, 1)
	for range 500 {
		if err := s.Take(context.Background(), buckets, out); err == nil {
			t.Fatal("a hung client answered")
		}
	}
	client.answers.Store(true)
	time.Sleep(20 * time.Millisecond)
	var err error
	for range 10 { // a loaded machine may miss a budget of a millisecond now and then
		if err = s.Take(context.Background(), buckets, out); err == nil {
			return
		}
	}
	t.Errorf("the client answers again, and the store still says: %v", err)
}

// Until a breaker has seen five calls fail, those wait that came within one budget and one a call, not
// those of each round of calls.
func TestFewWaitForAHungClient(t *testing.T) {
	s := Must(new(hung), WithBudget(50*time.Millisecond))
	var failed, joined atomic.Int32
	s.Watch(func(string, error) { failed.Add(1) })
	var wg sync.WaitGroup
	for failed.Load() < 5 {
		wg.Go(func() {
			buckets, out := []core.Bucket{{Key: "k", Limit: core.PerSecond(10), Cost: 1}}, make([]core.Outcome, 1)
			if err := s.Take(context.Background(), buckets, out); !errors.Is(err, errLate) {
				joined.Add(1)
			}
		})
		time.Sleep(time.Millisecond)
	}
	wg.Wait()
	t.Logf("%d of a request each ms waited", joined.Load())
	if n := joined.Load(); n > 50+5+1 {
		t.Errorf("%d of a request each ms waited, want 56 at most", n)
	}
}
