package core_test

import (
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// A store is told of each bucket whether its level may be leased, on routes too.
func TestLeaseReachesTheStore(t *testing.T) {
	global, user := core.Global(core.PerSecond(1000), core.PerHour(100_000)), core.PerUser(core.PerHour(100))
	global.Lease = true
	s := scripted()
	l := limiter(t, s, core.Policy{global, user}, core.WithRoute("GET /", core.Policy{core.Global(core.PerSecond(500))}))
	for endpoint, want := range map[string]map[string]bool{"": {"global": true, "user": false}, "GET /": {"global": false, "user": false}} {
		r := core.Request{User: "ann", Endpoint: endpoint}
		l.Check(ctx, r)
		for _, b := range s.buckets(t) {
			if b.Lease != want[b.Level] {
				t.Errorf("at %q, a bucket of level %s has Lease %v", endpoint, b.Level, b.Lease)
			}
		}
	}
}
