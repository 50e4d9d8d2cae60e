package faultmatrix_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core/redisstore"
)

// setup is a way in which a service may have set up go-redis.
type setup struct {
	name    string
	options redis.UniversalOptions
}

var setups = []setup{
	{"default", redis.UniversalOptions{}},
	{"`ContextTimeoutEnabled`", redis.UniversalOptions{ContextTimeoutEnabled: true}},
	{"tuned", redis.UniversalOptions{
		ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: 250 * time.Millisecond, ReadTimeout: 100 * time.Millisecond, PoolTimeout: budget,
	}},
	{"no timeouts", redis.UniversalOptions{ReadTimeout: -1, WriteTimeout: -1}},
}

// client is closed by the test, after the store that uses it.
func (g *group) client(t *testing.T, s setup) redisstore.Client {
	o := s.options
	o.Addrs = g.addrs
	if g.secured == nil {
		o.Dialer = g.dialer(o.DialTimeout)
	} else {
		o.Username, o.Password, o.TLSConfig = g.secured.Username, g.secured.Password, g.secured.TLSConfig
		o.SentinelUsername, o.SentinelPassword = o.Username, o.Password
	}
	var c redis.UniversalClient
	switch g.topology {
	case single:
		c = redis.NewClient(o.Simple())
	case sentinel:
		o.MasterName = g.sentinel.MasterName()
		c = redis.NewFailoverClient(o.Failover())
	case cluster:
		c = redis.NewClusterClient(o.Cluster())
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
