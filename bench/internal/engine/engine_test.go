package engine_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A limiter that does not limit is fast and would win every table.
func TestEveryEngineLimits(t *testing.T) {
	server := redistest.Start(t)
	for _, kind := range append(engine.Shared, engine.Local...) {
		for _, levels := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", kind.Name, levels), func(t *testing.T) {
				server.Do(t, "FLUSHALL")
				limits(t, kind, engine.Setup{Addr: server.Addr(), Pool: 8, Levels: levels, Limits: 1, Limit: core.PerHour(5)})
			})
		}
	}
}

func limits(t *testing.T, kind engine.Kind, s engine.Setup) {
	e, err := kind.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if kind.AdmitsAll {
		return
	}
	admitted := 0
	for range 20 {
		ok, err := e.Take(t.Context(), request(1, s.Levels))
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			admitted++
		}
	}
	most := 5
	if kind.Coarse {
		most++ // a second may have passed
	}
	if admitted < 5 || admitted > most {
		t.Errorf("admitted %d of 20 at once, want 5", admitted)
	}
	if s.Levels == 1 {
		if ok, err := e.Take(t.Context(), request(2, 1)); !ok || err != nil {
			t.Errorf("another address: %v, %v; want it admitted", ok, err)
		}
		return
	}
	// Another address and user, so that it is the last level which refuses.
	if kind.Coarse {
		return
	}
	other := request(2, s.Levels)
	other.Endpoint, other.Keys[2] = request(1, s.Levels).Endpoint, request(1, s.Levels).Keys[2]
	if ok, err := e.Take(t.Context(), other); ok || err != nil {
		t.Errorf("the endpoint has no unit left: %v, %v; want it refused", ok, err)
	}
}

func request(n, levels int) *engine.Request {
	r := &engine.Request{
		IP: netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}), User: fmt.Sprint("user-", n), Endpoint: fmt.Sprint("GET /", n),
	}
	for i := range levels {
		r.Keys = append(r.Keys, fmt.Sprintf("%s:%d", engine.LevelName(i), n))
	}
	return r
}

// The scale curves need more levels than the three that have names, and several limits in one.
func TestOursTakesManyLevelsAndLimits(t *testing.T) {
	server := redistest.Start(t)
	kind, _ := engine.Find(engine.Shared, engine.Tierlimit)
	e, err := kind.Open(engine.Setup{Addr: server.Addr(), Levels: 8, Limits: 4, Limit: core.Per(1000, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if ok, err := e.Take(t.Context(), request(1, 8)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if n := server.Do(t, "DBSIZE"); n != int64(32) {
		t.Errorf("%v buckets, want 8 levels of 4", n)
	}
}
