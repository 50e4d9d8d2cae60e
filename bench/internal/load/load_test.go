package load_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// What a scenario is called is what it does, for the limiter whose figures all others are
// compared to as for ours.
func TestTrafficIsWhatItIsCalled(t *testing.T) {
	redis := redistest.Start(t)
	server := load.NewServer(redis.Addr())
	defer server.Close()
	for traffic, denied := range map[load.Traffic]bool{load.Busy: false, load.Calm: false, load.Denied: true, load.DeniedLast: true} {
		s := load.Scenario{Levels: 3, Goroutines: 8, Keys: load.Uniform, Traffic: traffic}
		space := s.Space()
		for _, name := range []string{engine.Tierlimit, engine.RedisRate} {
			t.Run(string(traffic)+"/"+name, func(t *testing.T) {
				kind, _ := engine.Find(engine.Shared, name)
				got, err := load.Run{
					Kind: kind, Server: server, Space: space, Goroutines: s.Goroutines, Exhaust: s.Exhaust(), Time: 100 * time.Millisecond,
					Setup: engine.Setup{Addr: redis.Addr(), Pool: 8, Levels: s.Levels, Limits: 1, Limit: traffic.Limit()},
				}.Measure(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if share := got.Metrics[load.DeniedPart]; (denied && share < 0.99) || (!denied && share > 0) {
					t.Errorf("%v of the decisions were denials", share)
				}
				if got.Metrics[load.PerSecond] <= 0 || got.Metrics[load.RedisCPU] <= 0 {
					t.Errorf("nothing measured: %v", got.Metrics)
				}
				// One call a level for the peer, however many levels share one for ours.
				trips := got.Metrics[load.RoundTrips]
				want := map[load.Traffic]float64{load.Busy: 3, load.Calm: 3, load.Denied: 1, load.DeniedLast: 3}[traffic]
				if name == engine.RedisRate && (trips < want*0.9 || trips > want*1.1) {
					t.Errorf("%v round trips a decision, want %v", trips, want)
				}
			})
		}
	}
}

func TestSourcesRepeat(t *testing.T) {
	space := load.NewSpace(load.Zipf, []int{1000, 1000, 16})
	a, b, other := space.Source(1), space.Source(1), space.Source(2)
	same := 0
	for range 100 {
		key := a.Next().Keys[0]
		if key != b.Next().Keys[0] {
			t.Fatal("two sources with one number differ")
		}
		if key == other.Next().Keys[0] {
			same++
		}
	}
	if same == 100 {
		t.Error("sources with different numbers give the same")
	}
}
