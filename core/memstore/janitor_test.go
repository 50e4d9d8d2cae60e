package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

// Memory comes back while all that arrives is one client's denied requests, and no goroutine
// stays behind: the bubble would not end.
func TestSweeperFreesWithoutAdmissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		for i := range 200_000 {
			take(t, s, bucket(fmt.Sprint("key", i), core.PerSecond(1), 1))
		}
		denied := bucket("denied", core.PerHour(1), 1)
		take(t, s, denied)
		if got := s.Stats().Entries; got != 200_001 {
			t.Fatalf("%d entries, want 200001", got)
		}
		for range 10 {
			time.Sleep(time.Second)
			if take(t, s, denied)[0].Admits {
				t.Fatal("the denied client is admitted")
			}
		}
		if got := s.Stats().Entries; got != 1 {
			t.Errorf("%d entries after 10 s, want the one that owes", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// sweepers counts the goroutines that sweep a store. The count of all goroutines has in it what the
// test before is still ending.
func sweepers() int {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), ".(*janitor).run(")
}

// A store that nobody closes ends its goroutine when its buckets are full again, and starts
// another with the next entry, however many buckets a request has.
func TestSweeperSleepsWhenThereIsNothingToSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		for n := range 3 {
			limit := core.Per(1, 5*time.Second) // more than the sweeper needs to pass all shards
			request := []core.Bucket{bucket("a", limit, 1), bucket("b", limit, 1), bucket("c", limit, 1)}
			take(t, s, request[:n+1]...)
			synctest.Wait()
			if got := sweepers(); got != 1 {
				t.Fatalf("%d sweepers while there is an entry, want one", got)
			}
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if got := sweepers(); got != 0 {
				t.Fatalf("%d sweepers of a store that has nothing to do, want none", got)
			}
			if got := s.Stats().Entries; got != 0 {
				t.Fatalf("%d entries, want 0", got)
			}
		}
	})
}

// Expiry is decided from the clock at each read: here the sweeper's own clock never ticks.
func TestExpiryNeedsNoSweeper(t *testing.T) {
	s, c := frozen(t)
	b := bucket("a", core.PerMinute(1), 1)
	take(t, s, b)
	if take(t, s, b)[0].Admits {
		t.Fatal("second of 1/min admitted")
	}
	c.advance(time.Minute)
	if !take(t, s, b)[0].Admits {
		t.Error("refused after the refill")
	}
}

func TestCloseEndsTheSweeperAndStaysClosed(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 1000 {
		s := memstore.New()
		b := bucket("a", core.PerHour(1), 1)
		out := take(t, s, b)
		for range 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		ctx, buckets := context.Background(), []core.Bucket{b}
		for name, err := range map[string]error{
			"Take": s.Take(ctx, buckets, out), "Peek": s.Peek(ctx, buckets, out), "Debit": s.Debit(ctx, buckets),
			"Refund": s.Refund(ctx, buckets, out), "Reset": s.Reset(ctx, buckets),
		} {
			if !errors.Is(err, core.ErrClosed) {
				t.Fatalf("%s after Close: %v, want ErrClosed", name, err)
			}
		}
	}
	goleak.VerifyNone(t)
	if after := runtime.NumGoroutine(); after > before+2 {
		t.Errorf("%d goroutines, had %d", after, before)
	}
}

// Closing while requests are under way ends in answers and ErrClosed, nothing else.
func TestCloseUnderLoad(t *testing.T) {
	for range 50 {
		s := memstore.New()
		done := make(chan error)
		for g := range 4 {
			go func() {
				for i := 0; ; i++ {
					b := []core.Bucket{bucket(fmt.Sprint(g, "/", i), core.PerHour(1), 1)}
					if err := s.Take(context.Background(), b, make([]core.Outcome, 1)); err != nil {
						done <- err
						return
					}
				}
			}()
		}
		time.Sleep(100 * time.Microsecond)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if err := <-done; !errors.Is(err, core.ErrClosed) {
				t.Fatal(err)
			}
		}
	}
}
