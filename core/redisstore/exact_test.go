package redisstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// With the default budget and go-redis' defaults, and every connection still to be made.
func TestFreshKeyAdmitsItsCapacityHoweverManyAskAtOnce(t *testing.T) {
	server := redistest.Start(t)
	for _, cold := range []bool{true, false} {
		late, rounds := 0, 0
		s := open(t, server.Client(t))
		for round := range 20 {
			if cold {
				server.Do(t, "SCRIPT", "FLUSH")
				s = open(t, server.Client(t))
			}
			buckets := levels(fmt.Sprint(cold, round))
			buckets[0].Limit = core.PerHour(50)
			var admitted, missed atomic.Int64
			together(200, func(int) {
				switch out, err := try(s, buckets...); {
				case err != nil:
					missed.Add(1)
				case out[0].Charged:
					admitted.Add(1)
				}
			})
			if n := admitted.Load(); n > 50 || (missed.Load() == 0 && n != 50) {
				t.Errorf("round %d, cold %v: %d admitted with %d late answers, want 50", round, cold, n, missed.Load())
			}
			if missed.Load() > 0 {
				late, rounds = late+int(missed.Load()), rounds+1
			}
		}
		t.Logf("cold %v: %d of 4000 checks in %d of 20 rounds missed the budget", cold, late, rounds)
	}
}

// Replicas have clients and stores of their own.
func TestManyStoresOnOneKeyAdmitItsCapacity(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var stores []*redisstore.Store
	for range 4 {
		stores = append(stores, open(t, server.Client(t), redisstore.WithBudget(patient)))
	}
	for round := range 5 {
		buckets := levels(fmt.Sprint(round))
		buckets[1].Limit = core.PerHour(50)
		var admitted atomic.Int64
		together(200, func(i int) {
			if out, err := try(stores[i%4], buckets...); err != nil {
				t.Errorf("Take: %v", err)
			} else if out[1].Charged {
				admitted.Add(1)
			}
		})
		if admitted.Load() != 50 {
			t.Errorf("%d admitted, want 50", admitted.Load())
		}
		if o := peek(t, stores[0], buckets[0]); o.Remaining != 950 {
			t.Errorf("%d left of the level that always admits, want 950: denials are charged nowhere", o.Remaining)
		}
	}
}

// On the server's own clock, against several clients that never pause.
func TestGreedyClientsNeverGetMoreThanBurstAndRate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, limit := range []core.Limit{
		core.PerSecond(10_000).WithBurst(1), core.PerSecond(1000).WithBurst(10), core.Per(2, 100*time.Millisecond),
		core.PerSecond(1_000_000).WithBurst(1), core.Per(3, 7*time.Second),
	} {
		t.Run(limit.String(), func(t *testing.T) {
			t.Parallel()
			b := bucket(limit.String(), limit)
			var admitted atomic.Int64
			start := time.Now()
			together(4, func(int) {
				s := open(t, server.Client(t), redisstore.WithBudget(patient))
				for time.Since(start) < time.Second {
					if take(t, s, b)[0].Charged {
						admitted.Add(1)
					}
				}
			})
			passed := time.Since(start)
			most := float64(limit.Capacity()) + float64(limit.Quota)*passed.Seconds()/limit.Period.Seconds()
			if n := float64(admitted.Load()); n > most || n < 1 {
				t.Errorf("%v admitted in %v, want at most %.1f", n, passed, most)
			}
			if slow := limit.Period / time.Duration(limit.Quota); slow > 10*time.Millisecond {
				least := float64(limit.Capacity()) + (passed.Seconds()-0.5)*float64(limit.Quota)/limit.Period.Seconds() - 1
				if n := float64(admitted.Load()); n < least && !raceEnabled {
					t.Errorf("%v admitted in %v, want at least %.1f", n, passed, least)
				}
			}
			if v, _ := server.Do(t, "GET", stored(b)).(string); v != "" && !digits.MatchString(v) {
				t.Errorf("stored %q", v)
			}
		})
	}
}
