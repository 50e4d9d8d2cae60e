package shaper_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/shaper"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	client := connect(t, redis.Options{Addr: "127.0.0.1:1"})
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	ok := core.PerSecond(50)
	for _, c := range []struct {
		client shaper.Client
		name   string
		limit  core.Limit
		opts   []shaper.Option
		want   string
	}{
		{nil, "mail", ok, nil, "client is nil"},
		{(*redis.Client)(nil), "mail", ok, nil, "client is nil"},
		{ring, "mail", ok, nil, "client is a *redis.Ring"},
		{client.Pipeline(), "mail", ok, nil, "client is a *redis.Pipeline"},
		{client, "", ok, nil, "name is"},
		{client, "a}b", ok, nil, "name is"},
		{client, strings.Repeat("a", 65), ok, nil, "name is"},
		{client, "mail", core.Limit{}, nil, "quota is 0"},
		{client, "mail", core.Unlimited, nil, "limit is unlimited"},
		{client, "mail", core.BlockAll, nil, "limit is block all"},
		{client, "mail", ok.WithBurst(5), nil, "burst is 5, want 0: WithBacklog"},
		{client, "mail", ok.With(core.SlidingLog), nil, "algorithm is sliding_log"},
		{client, "mail", core.Per(1, 1e5*time.Hour), nil, "period is more than a year"},
		{client, "mail", ok, []shaper.Option{nil}, "option is nil"},
		{client, "mail", ok, []shaper.Option{shaper.WithBacklog(0)}, "backlog is 0"},
		{client, "mail", ok, []shaper.Option{shaper.WithAttempts(0)}, "attempts are 0"},
		{client, "mail", ok, []shaper.Option{shaper.WithClaimAfter(time.Millisecond)}, "claim after is 1ms"},
		{client, "mail", ok, []shaper.Option{shaper.WithRetryAfter(-1)}, "retry after is -1ns"},
		{client, "mail", ok, []shaper.Option{shaper.WithRetryAfter(time.Minute)}, "retry after is 1m0s, want at most claim after, 30s"},
		{client, "mail", ok, []shaper.Option{shaper.WithGrace(-1)}, "grace is -1ns"},
		{client, "mail", ok, []shaper.Option{shaper.WithPrefix("a:b")}, "prefix is"},
		{client, "mail", ok, []shaper.Option{shaper.WithLogger(nil)}, "logger is nil"},
	} {
		q, err := shaper.New(c.client, c.name, c.limit, c.opts...)
		if q != nil || err == nil || !strings.HasPrefix(err.Error(), "shaper: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %v: %v, want an error with %q", c.name, c.limit, err, c.want)
		}
	}
	for _, limit := range []core.Limit{ok, ok.With(core.LeakyBucket), core.Per(1, 24*time.Hour), core.Per(1_000_000_000, time.Second)} {
		q, err := shaper.New(client, "mail", limit)
		if err != nil {
			t.Errorf("%v: %v", limit, err)
			continue
		}
		if err := q.Work(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "handler is nil") {
			t.Errorf("Work without a handler: %v", err)
		}
		_ = q.Close()
	}
}
