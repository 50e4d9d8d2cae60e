package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// moving is a shared store whose keys all live on one node.
type moving struct {
	*settler
	node    atomic.Value
	lookups atomic.Int64
}

func (m *moving) Partition(string) string {
	m.lookups.Add(1)
	return m.node.Load().(string)
}

// A node that was well and has been replaced, as after a failover by hand, is forgotten.
func TestNodeThatWasReplacedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moving{settler: newSettler()}
		s := wrap(t, m)
		m.node.Store("old")
		only := func(node string) {
			t.Helper()
			take(t, s, clusterBucket(0))
			time.Sleep(3 * time.Second)
			if n := s.Health().Nodes; len(n) != 1 || n[0].Partition != node {
				t.Errorf("nodes %+v, want only the %s one", n, node)
			}
		}
		only("old")
		m.node.Store("new")
		m.lookups.Store(0)
		only("new")
		if n := m.lookups.Load(); n > 17_000 {
			t.Errorf("%d keys were looked up, want one search", n)
		}
	})
}

// heard is a census that answers with an error, and notes when it was asked.
type heard struct {
	*fake
	err error
	at  []time.Time
}

func (h *heard) Live(context.Context, string, time.Duration) (int, error) {
	h.at = append(h.at, time.Now())
	return 0, h.err
}

func (h *heard) Leave(context.Context, string) error { return nil }

// One that cannot say that it is there says so sooner again only if that may help, and never in haste.
func TestHowSoonAReplicaIsCountedAgain(t *testing.T) {
	for fault, want := range map[core.Fault][2]int{core.FaultStore: {8, 11}, core.FaultConfig: {5, 7}} {
		t.Run(fmt.Sprint("fault ", fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &heard{fake: newFake(), err: &core.StoreError{Fault: fault, Err: errors.New("no")}}
				s, err := fallback.New(h, fallback.WithLogger(discard))
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				_ = s.Close()
				if n := len(h.at); n < want[0] || n > want[1] {
					t.Errorf("asked %d times in 10 s, want %v", n, want)
				}
				for i := 1; i < len(h.at); i++ {
					if gap := h.at[i].Sub(h.at[i-1]); gap < time.Second {
						t.Errorf("asked again after %v", gap)
					}
				}
			})
		})
	}
}

// A replica that serves nobody yet says so if it cannot reach its store, as after a deploy with a wrong address.
func TestIdleReplicaLearnsThatItReachesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Reserve(t)
	client := server.Client(t)
	s := wrap(t, redisstore.Must(client))
	eventually(t, "degraded without a request", 30*time.Second, func() bool { return s.Health().Degraded })
	server.Launch()
	eventually(t, "well again", 10*time.Second, func() bool { return !s.Health().Degraded })
}
