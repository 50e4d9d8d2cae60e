package prommetrics_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/prommetrics"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
)

func TestShadowDenialsAreCountedApart(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := prommetrics.New(reg)
	if err != nil {
		t.Fatal(err)
	}
	dry := core.PerUser(core.PerHour(1))
	dry.Shadow = true
	l, err := core.New(memstore.New(), core.Policy{dry, core.Global(core.PerHour(5))}, core.WithObserver(m.Observe))
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		l.Check(context.Background(), core.Request{User: "u"})
	}
	want := `
# HELP tierlimit_requests_total Requests decided, by the level that denied (empty if none), why, and where the answer came from.
# TYPE tierlimit_requests_total counter
tierlimit_requests_total{level="",reason="none",source="local"} 5
tierlimit_requests_total{level="global",reason="quota",source="local"} 5
# HELP tierlimit_shadow_denials_total Requests that a shadow level would have denied.
# TYPE tierlimit_shadow_denials_total counter
tierlimit_shadow_denials_total{level="user"} 9
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if _, err := prommetrics.New(reg); err == nil {
		t.Error("registering twice gave no error")
	}
}

func TestListedRequestsAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := prommetrics.New(reg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := core.New(memstore.New(), core.Policy{core.Global(core.PerHour(5))}, core.WithObserver(m.Observe),
		core.WithDenyList(core.List{Users: []string{"eve"}}), core.WithAllowList(core.List{Users: []string{"ann"}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"eve", "eve", "ann"} {
		l.Check(context.Background(), core.Request{User: user})
	}
	want := `
# HELP tierlimit_requests_total Requests decided, by the level that denied (empty if none), why, and where the answer came from.
# TYPE tierlimit_requests_total counter
tierlimit_requests_total{level="",reason="listed",source="exempt"} 2
tierlimit_requests_total{level="",reason="none",source="exempt"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

var loopback = netip.MustParseAddr("127.0.0.1")

func TestTheStateOfTheSharedStoreIsShown(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	store, err := fallback.New(redisstore.Must(client))
	if err != nil {
		t.Fatal(err)
	}
	l, err := core.New(store, core.Policy{core.PerIP(core.PerHour(1000))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	reg := prometheus.NewRegistry()
	if err := prommetrics.Fallback(reg, store); err != nil {
		t.Fatal(err)
	}
	if err := prommetrics.Limiter(reg, l); err != nil {
		t.Fatal(err)
	}
	l.Check(context.Background(), core.Request{})
	for range 20 {
		l.Check(context.Background(), core.Request{IP: loopback})
	}
	for end := time.Now().Add(time.Second); !store.Health().Degraded && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the breaker is told beside the requests
	}
	want := `
# HELP tierlimit_degraded 1 while some node of the shared store is failing and decisions are local.
# TYPE tierlimit_degraded gauge
tierlimit_degraded 1
# HELP tierlimit_local_decisions_total Requests with a level decided locally.
# TYPE tierlimit_local_decisions_total counter
tierlimit_local_decisions_total 20
# HELP tierlimit_no_address_total Requests that an IP level could not count: no client address.
# TYPE tierlimit_no_address_total counter
tierlimit_no_address_total 1
# HELP tierlimit_settled_buckets_total Buckets charged in the shared store for what was admitted without it.
# TYPE tierlimit_settled_buckets_total counter
tierlimit_settled_buckets_total 0
# HELP tierlimit_share This replica's part of each limit while decisions are local.
# TYPE tierlimit_share gauge
tierlimit_share 1
# HELP tierlimit_unsettled_buckets_total Buckets that could not be charged for that.
# TYPE tierlimit_unsettled_buckets_total counter
tierlimit_unsettled_buckets_total 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tierlimit_degraded", "tierlimit_local_decisions_total", "tierlimit_no_address_total",
		"tierlimit_settled_buckets_total", "tierlimit_share", "tierlimit_unsettled_buckets_total"); err != nil {
		t.Error(err)
	}
}

type unwell struct{ health core.Health }

func (u unwell) Health() core.Health { return u.health }

func TestFailuresAreCountedByFault(t *testing.T) {
	reg := prometheus.NewRegistry()
	if err := prommetrics.Fallback(reg, unwell{core.Health{Failures: core.FailureCounts{Store: 1, Config: 2, Request: 3, Caller: 4}}}); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP tierlimit_store_failures_total Requests that the shared store did not answer, by whose fault it was.
# TYPE tierlimit_store_failures_total counter
tierlimit_store_failures_total{fault="caller"} 4
tierlimit_store_failures_total{fault="config"} 2
tierlimit_store_failures_total{fault="request"} 3
tierlimit_store_failures_total{fault="store"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tierlimit_store_failures_total"); err != nil {
		t.Error(err)
	}
}
