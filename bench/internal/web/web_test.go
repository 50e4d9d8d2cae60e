package web_test

import (
	"testing"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/web"
	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A middleware that is not reached, or does not see who asks, costs nothing.
func TestEveryServiceLimits(t *testing.T) {
	server := redistest.Start(t)
	for _, kind := range web.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			server.Do(t, "FLUSHALL")
			e, err := kind.Open(engine.Setup{Addr: server.Addr(), Pool: 8, Levels: 3, Limits: 1, Limit: core.PerHour(5)})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			source := load.NewSpace(load.Uniform, []int{2, 2, 2}).Source(0)
			admitted := 0
			for range 20 {
				ok, err := e.Take(t.Context(), source.Nth(0))
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					admitted++
				}
			}
			want := 5
			if kind.Reference {
				want = 20
			}
			if admitted != want {
				t.Errorf("admitted %d of 20, want %d", admitted, want)
			}
			if ok, err := e.Take(t.Context(), source.Nth(1)); !ok || err != nil {
				t.Errorf("another client: %v, %v; want it admitted", ok, err)
			}
		})
	}
}
