package redisstore_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// What is missing of a reply reads as 0, which is what a full bucket owes.
func TestHalfAReplyIsNone(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		proxy := redistest.StartProxy(t, redistest.Start(t).Addr())
		s := open(t, connect(t, proxy.Addr(), nil), redisstore.WithBudget(patient), redisstore.WithDenyCache(0))
		halfReply(t, s, proxy, bucket("spent", core.PerDay(1)))
	})
	t.Run("Ring", func(t *testing.T) {
		proxy := redistest.StartProxy(t, redistest.Start(t).Addr())
		r := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": proxy.Addr()}, HeartbeatFrequency: time.Hour})
		t.Cleanup(func() { _ = r.Close() })
		s := open(t, r, redisstore.WithBudget(patient), redisstore.WithDenyCache(0))
		halfReply(t, s, proxy, bucket("spent", core.PerDay(1)))
	})
}

func halfReplyOverCluster(t *testing.T, cluster *redistest.Cluster) {
	b, nodes := onNodes(t, open(t, cluster.Client(t), redisstore.WithBudget(patient)), cluster, 1, core.PerDay(1))
	proxy := redistest.StartProxy(t, nodes[0].Addr())
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs(),
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == nodes[0].Addr() {
				addr = proxy.Addr()
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	halfReply(t, open(t, client, redisstore.WithBudget(patient), redisstore.WithDenyCache(0)), proxy, b[0])
}

// halfReply cuts off what the server behind the proxy says of a bucket that is spent.
func halfReply(t *testing.T, s *redisstore.Store, proxy *redistest.Proxy, spent core.Bucket) {
	t.Helper()
	take(t, s, spent)
	for range 10 {
		if o := take(t, s, spent)[0]; o.Admits { // on a connection that the next call uses again
			t.Fatalf("the bucket is not spent: %+v", o)
		}
		proxy.SetMode(redistest.HalfReply)
		out, err := try(s, spent)
		if err == nil || core.FaultOf(err) != core.FaultStore || out[0].Admits || out[0].Charged {
			t.Errorf("error %v, outcome %+v; want the store's and no answer", err, out[0])
		}
		idle(t, s)
		proxy.Heal()
	}
}
