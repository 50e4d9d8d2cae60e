package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestMistakesAreErrorsThatNameTheField(t *testing.T) {
	t.Parallel()
	client := connect(t, "127.0.0.1:1", nil)
	universal := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}})
	t.Cleanup(func() { _ = universal.Close() })
	for name, c := range map[string]struct {
		client redisstore.Client
		opts   []redisstore.Option
		says   string
	}{
		"no client":         {nil, nil, "client is nil"},
		"nil client":        {(*redis.Client)(nil), nil, "client is nil"},
		"pipeline":          {client.Pipeline(), nil, "only queues"},
		"nil cluster":       {(*redis.ClusterClient)(nil), nil, "client is nil"},
		"nil ring":          {(*redis.Ring)(nil), nil, "client is nil"},
		"nil option":        {client, []redisstore.Option{nil}, "option is nil"},
		"nil second option": {client, []redisstore.Option{redisstore.WithBudget(time.Second), nil}, "option is nil"},
		"budget 0":          {client, []redisstore.Option{redisstore.WithBudget(0)}, "budget is 0s"},
		"budget negative":   {client, []redisstore.Option{redisstore.WithBudget(-time.Second)}, "budget is -1s"},
		"budget of numbers": {client, []redisstore.Option{redisstore.WithBudget(50)}, "budget is 50ns"},
		"budget too long":   {client, []redisstore.Option{redisstore.WithBudget(time.Minute + 1)}, "budget is"},
		"prefix empty":      {client, []redisstore.Option{redisstore.WithPrefix("")}, `prefix is ""`},
		"prefix with colon": {client, []redisstore.Option{redisstore.WithPrefix("a:b")}, `prefix is "a:b"`},
		"prefix with tag":   {client, []redisstore.Option{redisstore.WithPrefix("{a}")}, `prefix is "{a}"`},
		"prefix with space": {client, []redisstore.Option{redisstore.WithPrefix("a b")}, `prefix is "a b"`},
		"prefix with NUL":   {client, []redisstore.Option{redisstore.WithPrefix("a\x00")}, `prefix is "a\x00"`},
		"prefix not ASCII":  {client, []redisstore.Option{redisstore.WithPrefix("é")}, "prefix is"},
		"prefix too long":   {client, []redisstore.Option{redisstore.WithPrefix(strings.Repeat("p", 65))}, "prefix is"},
		"clock nil":         {client, []redisstore.Option{redisstore.WithClock(nil)}, "clock is nil"},
	} {
		s, err := redisstore.New(c.client, c.opts...)
		if err == nil || s != nil || !strings.HasPrefix(err.Error(), "redisstore: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: store %v, error %v; want one that says %q", name, s != nil, err, c.says)
		}
	}
}

func TestLimitsOfTheOptions(t *testing.T) {
	t.Parallel()
	client := connect(t, "127.0.0.1:1", nil)
	for _, opt := range []redisstore.Option{
		redisstore.WithBudget(time.Millisecond), redisstore.WithBudget(time.Minute),
		redisstore.WithPrefix("a"), redisstore.WithPrefix("A-z_0.9"), redisstore.WithPrefix(strings.Repeat("p", 64)),
	} {
		open(t, client, opt)
	}
}

func TestMustPanicsWithTheError(t *testing.T) {
	t.Parallel()
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "client is nil") {
			t.Errorf("panic with %v, want the error of New", err)
		}
	}()
	redisstore.Must(nil)
}

// Nothing is asked of Redis, so that a service starts while it is away, and nothing of the
// client's own is changed.
func TestNewLeavesServerAndClientAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	before := *client.Options()
	server.Do(t, "CONFIG", "RESETSTAT")
	s := open(t, client, redisstore.WithBudget(patient))
	if n := calls(t, server); n["evalsha"]+n["eval"]+n["script|load"] != 0 || client.PoolStats().TotalConns != 0 {
		t.Errorf("New made %v", n)
	}
	take(t, s, levels("")...)
	after := *client.Options()
	if after.ReadTimeout != before.ReadTimeout || after.WriteTimeout != before.WriteTimeout || after.MaxRetries != before.MaxRetries {
		t.Errorf("the client's timeouts and retries are now %v, %v, %d", after.ReadTimeout, after.WriteTimeout, after.MaxRetries)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the client after Close of the store: %v", err)
	}
}

// A policy whose levels would need a local half is refused when the limiter is made.
func TestLimiterIsToldThatThereIsNoLocalHalf(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, "127.0.0.1:1", nil))
	if _, err := core.New(s, core.Policy{core.PerUser(core.PerHour(1))}); err == nil || !strings.Contains(err.Error(), "fallback.New") {
		t.Errorf("error %v, want one that says fallback.New", err)
	}
	if s.Partition("any") != "" {
		t.Error("one server is more than one partition")
	}
}
