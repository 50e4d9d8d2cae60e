package fallback_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

const budget = 50 * time.Millisecond

// backWithin is twice what is promised: tests share their machine, and redis-server with them.
const backWithin = 3 * time.Second

// clients are ways in which a service may have set up go-redis.
var clients = map[string]func(addr string) *redis.Options{
	"default": func(addr string) *redis.Options { return &redis.Options{Addr: addr} },
	"context": func(addr string) *redis.Options { return &redis.Options{Addr: addr, ContextTimeoutEnabled: true} },
	"tuned": func(addr string) *redis.Options {
		return &redis.Options{
			Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
			DialTimeout: 250 * time.Millisecond, ReadTimeout: 100 * time.Millisecond, PoolTimeout: budget,
		}
	},
	"no timeouts": func(addr string) *redis.Options { return &redis.Options{Addr: addr, ReadTimeout: -1, WriteTimeout: -1} },
}

// fault is a way in which Redis goes away, and comes back.
type fault struct {
	hit, heal func(*redistest.Server, *redistest.Proxy)
}

var faults = map[string]fault{
	"killed":        {func(s *redistest.Server, _ *redistest.Proxy) { s.Kill() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Restart() }},
	"stopped":       {func(s *redistest.Server, _ *redistest.Proxy) { s.Stop() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Cont() }},
	"black hole":    {func(_ *redistest.Server, p *redistest.Proxy) { p.SetMode(redistest.BlackHole) }, heal},
	"no connection": {func(_ *redistest.Server, p *redistest.Proxy) { p.SynHole(); p.CloseAll() }, heal},
	"replies lost":  {func(_ *redistest.Server, p *redistest.Proxy) { p.SetMode(redistest.SwallowReplies) }, heal},
	"slow":          {func(_ *redistest.Server, p *redistest.Proxy) { p.SetDelay(200 * time.Millisecond) }, heal},
}

func heal(_ *redistest.Server, p *redistest.Proxy) { p.Heal(); p.SetDelay(0) }

func TestOutages(t *testing.T) {
	for faultName, f := range faults {
		for clientName, options := range clients {
			t.Run(faultName+"/"+clientName, func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.StartProxy(t, server.Addr())
				client := redis.NewClient(options(proxy.Addr()))
				s := wrap(t, redisstore.Must(client, redisstore.WithBudget(budget)))
				t.Cleanup(func() { _ = client.Close() })
				l := limiter(t, s, core.PerUser(core.PerSecond(100_000)), core.Global(core.PerSecond(100_000)))
				eventually(t, "first shared decision", 2*time.Second, func() bool { return source(l) == core.FromShared })

				f.hit(server, proxy)
				seen := load(l, 1500*time.Millisecond)
				f.heal(server, proxy)
				back := eventually(t, "decisions are shared again", backWithin, func() bool { return source(l) == core.FromShared })

				t.Logf("%d requests: slowest %v, %d waited; back after %v", seen.requests, seen.slowest, seen.waited, back)
				if seen.refused > 0 {
					t.Errorf("%d of %d requests refused", seen.refused, seen.requests)
				}
				if seen.shared > seen.waited+seen.requests/10 {
					t.Errorf("%d of %d decisions came from a shared store that was away", seen.shared, seen.requests)
				}
				if raceEnabled {
					return
				}
				if seen.slowest > budget+50*time.Millisecond {
					t.Errorf("slowest decision took %v, want the budget of %v and little more", seen.slowest, budget)
				}
				if seen.waited > 30 {
					t.Errorf("%d requests waited for a store that was away", seen.waited)
				}
			})
		}
	}
}

// After some seconds a go-redis client gives up dialling and looks only once a second; and calls
// that end just as they are given up on must not be counted as out for ever.
func TestComesBackAfterALongOutage(t *testing.T) {
	for clientName, options := range clients {
		t.Run(clientName, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client := redis.NewClient(options(server.Addr()))
			s := wrap(t, redisstore.Must(client, redisstore.WithBudget(budget)))
			t.Cleanup(func() { _ = client.Close() })
			l := limiter(t, s, core.PerUser(core.PerSecond(100_000)))
			server.Kill()
			if seen := load(l, 10*time.Second); seen.refused > 0 {
				t.Errorf("%d of %d requests refused", seen.refused, seen.requests)
			}
			server.Restart()
			back := eventually(t, "decisions are shared again", backWithin, func() bool { return source(l) == core.FromShared })
			t.Logf("back after %v", back)
		})
	}
}

func source(l *core.Limiter) core.Source { return l.Check(context.Background(), user).Source }

// sight is what a load saw.
type sight struct {
	requests, refused, waited, shared int
	slowest, stalled                  time.Duration // of a decision, and of a goroutine that only sleeps
}

// load sends 100 requests a second, each on its own, and watches how long they take.
func load(l *core.Limiter, during time.Duration) (s sight) {
	var mu sync.Mutex
	var wg, control sync.WaitGroup
	var machine weather
	stop := make(chan struct{})
	control.Go(func() { machine.control(stop) })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); <-tick.C {
		wg.Go(func() {
			start := time.Now()
			d := l.Check(context.Background(), user)
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			s.requests++
			s.slowest = max(s.slowest, took)
			if !d.Allowed {
				s.refused++
			}
			if took > 5*time.Millisecond {
				s.waited++
			}
			if d.Source == core.FromShared {
				s.shared++
			}
		})
	}
	wg.Wait()
	close(stop)
	control.Wait()
	s.stalled = time.Duration(machine.stalled.Load())
	return s
}

func TestServesBeforeRedisWasEverThere(t *testing.T) {
	server := redistest.Reserve(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	s := wrap(t, redisstore.Must(client))
	t.Cleanup(func() { _ = client.Close() })
	l := limiter(t, s, core.PerUser(core.PerHour(50)))
	if n := admitted(l, user, 100); n != 50 {
		t.Errorf("%d of 100 admitted without Redis, want the limit of 50", n)
	}
	server.Launch()
	eventually(t, "Redis is picked up", backWithin, func() bool { return source(l) == core.FromShared })
}

func TestOneProberWhateverTheLoadAndNoneAfterClose(t *testing.T) {
	var dials sync.Map
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Store(time.Now(), true)
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	})
	s := wrap(t, redisstore.Must(client))
	l := limiter(t, s, core.PerUser(core.PerHour(1_000_000)))
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { admitted(l, user, 10) })
	}
	wg.Wait()
	count := func() (n int) {
		dials.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	before := count()
	time.Sleep(time.Second)
	if probes := count() - before; probes > 6 {
		t.Errorf("%d dials in a second of outage, want a probe each quarter to half second", probes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	before = count()
	time.Sleep(600 * time.Millisecond)
	if count() != before {
		t.Error("still dialling after Close")
	}
}
