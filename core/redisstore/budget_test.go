package redisstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// faults are the ways in which Redis fails to answer, and how long it may take after the end of
// each until answers come again: where dials hang, go-redis needs their timeout and a second.
var faults = []struct {
	name        string
	start, stop func(*redistest.Server, *redistest.Proxy)
	recovery    time.Duration
}{
	{"black hole", func(_ *redistest.Server, p *redistest.Proxy) { p.SetMode(redistest.BlackHole) }, heal, 3 * time.Second},
	{"SYN hole", func(_ *redistest.Server, p *redistest.Proxy) { p.SynHole(); p.CloseAll() }, heal, 7 * time.Second},
	{"host vanished", func(_ *redistest.Server, p *redistest.Proxy) { p.SetMode(redistest.BlackHole); p.SynHole() }, heal, 7 * time.Second},
	{"200 ms slower", func(_ *redistest.Server, p *redistest.Proxy) { p.SetDelay(200 * time.Millisecond) }, heal, 3 * time.Second},
	{"half replies", func(_ *redistest.Server, p *redistest.Proxy) { p.SetMode(redistest.HalfReply) }, heal, 3 * time.Second},
	{
		"killed", func(s *redistest.Server, p *redistest.Proxy) { p.SetMode(redistest.Refuse); s.Kill() },
		func(s *redistest.Server, p *redistest.Proxy) { s.Launch(); p.Heal() }, 3 * time.Second,
	},
	{"stopped", func(s *redistest.Server, _ *redistest.Proxy) { s.Stop() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Cont() }, 3 * time.Second},
}

func heal(_ *redistest.Server, p *redistest.Proxy) { p.Heal() }

// Whatever Redis does, and whatever the client would wait, nobody waits longer than the budget
// for all levels together, and nobody has to do anything for it to go on afterwards.
func TestNoFaultHoldsARequestBeyondTheBudget(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			for name, opt := range clients {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					server := redistest.Start(t)
					proxy := redistest.StartProxy(t, server.Addr())
					client := connect(t, proxy.Addr(), opt)
					warm(t, client, 4)
					s := open(t, client)
					fault.start(server, proxy)
					j := measureJitter(t)
					load := outage{t: t, store: s}
					load.wave(200)
					load.stream(600 * time.Millisecond)
					load.wave(200)
					j.within(t, defaultBudget, load.took...)
					if load.answered > 0 {
						t.Errorf("%d requests were answered", load.answered)
					}
					fault.stop(server, proxy)
					recovers(t, s, fault.recovery)
				})
			}
		})
	}
}

// outage sends requests of three levels that are expected to fail.
type outage struct {
	t     *testing.T
	store *redisstore.Store

	mu       sync.Mutex
	took     []time.Duration
	answered int
}

func (o *outage) request(id string) {
	start := time.Now()
	_, err := try(o.store, levels(id)...)
	took := time.Since(start)
	if err != nil && core.FaultOf(err) != core.FaultStore {
		o.t.Errorf("fault %v of %v, want the store's", core.FaultOf(err), err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.took = append(o.took, took)
	if err == nil {
		o.answered++
	}
}

func (o *outage) wave(n int) { together(n, func(i int) { o.request(fmt.Sprint(i)) }) }

// stream is a request each 5 ms.
func (o *outage) stream(most time.Duration) {
	var wg sync.WaitGroup
	for start := time.Now(); time.Since(start) < most; time.Sleep(5 * time.Millisecond) {
		wg.Go(func() { o.request("stream") })
	}
	wg.Wait()
}

func recovers(t *testing.T, s *redisstore.Store, within time.Duration) {
	t.Helper()
	healed := time.Now()
	eventually(t, within, "answer after the fault", func() bool {
		_, err := try(s, levels("after")...)
		return err == nil
	})
	t.Logf("answers again after %v", time.Since(healed).Round(time.Millisecond))
	idle(t, s)
	var bad []error
	for range 100 {
		if _, err := try(s, levels("after")...); err != nil {
			bad = append(bad, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	if len(bad) > 20 { // a loaded machine misses the budget now and then
		t.Errorf("%d of 100 requests failed after the fault: %v", len(bad), errors.Join(bad...))
	}
}

func idle(t *testing.T, s *redisstore.Store) {
	t.Helper()
	eventually(t, 3*time.Second, "return of all calls, also of those that were given up", func() bool {
		flights, overdue, waiting := s.Queue()
		return flights == 0 && overdue == 0 && waiting == 0
	})
}

// A service starts while Redis is away, and finds it when it comes.
func TestStoreMadeBeforeItsServer(t *testing.T) {
	t.Parallel()
	for name, opt := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Reserve(t)
			o := redis.Options{}
			if opt != nil {
				o = *opt
			}
			s := open(t, connect(t, server.Addr(), &o))
			for range 10 {
				if _, err := try(s, levels("")...); err == nil || core.FaultOf(err) != core.FaultStore {
					t.Errorf("error %v, want the store's", err)
				}
			}
			server.Launch()
			recovers(t, s, 3*time.Second)
		})
	}
}
