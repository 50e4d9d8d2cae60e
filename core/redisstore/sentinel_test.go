package redisstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// While Sentinel hands over to the replica, decisions go on, and no request is charged twice.
func TestSentinelHandsOverWithoutDoubleCharges(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	old := sentinel.Master()
	s := open(t, sentinel.Client(t), redisstore.WithBudget(time.Second))
	b := bucket("b", core.Per(1_000_000, 100_000*time.Hour)) // refills one in 6 minutes
	var sent, admitted, failed atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				sent.Add(1)
				switch out, err := try(s, b); {
				case err != nil:
					failed.Add(1)
					t.Logf("during the hand-over: fault %v: %v", core.FaultOf(err), err)
				case out[0].Charged:
					admitted.Add(1)
				default:
					t.Errorf("denied: %+v", out[0])
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	sentinel.Failover(t)
	if sentinel.Master() == old {
		t.Error("the master is still the old one")
	}
	eventually(t, 15*time.Second, "decisions from the new master", func() bool {
		return calls(t, sentinel.Master())["evalsha"]+calls(t, sentinel.Master())["eval"] > 20
	})
	close(stop)
	wg.Wait()
	direct := open(t, sentinel.Master().Client(t), redisstore.WithBudget(patient))
	spent := 1_000_000 - peek(t, direct, b).Remaining
	t.Logf("%d requests: %d admitted, %d failed, %d spent at the new master", sent.Load(), admitted.Load(), failed.Load(), spent)
	if spent > sent.Load() {
		t.Errorf("%d spent by %d requests of 1", spent, sent.Load())
	}
	if failed.Load() > sent.Load()/5 {
		t.Errorf("%d of %d requests failed", failed.Load(), sent.Load())
	}
	if o := take(t, s, b)[0]; !o.Charged {
		t.Errorf("afterwards: %+v", o)
	}
}
