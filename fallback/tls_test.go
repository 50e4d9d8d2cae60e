package fallback_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A certificate that is not trusted and a password that is wrong are failures as others are: they are counted,
// nothing waits longer than the budget, and nothing shows the password.
func TestRefusedOverTLS(t *testing.T) {
	t.Parallel()
	budget := budget
	if raceEnabled {
		budget = time.Second // a handshake takes long with the race detector, and the refusal comes after it
	}
	secured := redistest.NewTLS(t)
	single, cluster := []string{secured.Start().Addr()}, secured.StartPrimaries(3).Addrs()
	for refusal, r := range map[string]struct {
		trust  *tls.Config
		counts func(core.FailureCounts) uint64
	}{
		"certificate": {&tls.Config{MinVersion: tls.VersionTLS12}, func(c core.FailureCounts) uint64 { return c.Store }},
		"password":    {secured.Config(), func(c core.FailureCounts) uint64 { return c.Config }},
	} {
		for name, o := range map[string]redis.UniversalOptions{
			"single":          {Addrs: single},
			"single/context":  {Addrs: single, ContextTimeoutEnabled: true},
			"cluster":         {Addrs: cluster},
			"cluster/context": {Addrs: cluster, ContextTimeoutEnabled: true},
		} {
			o.Username, o.Password, o.TLSConfig = redistest.User, redistest.Password+"wrong", r.trust
			t.Run(refusal+"/"+name, func(t *testing.T) {
				t.Parallel()
				client := redis.NewUniversalClient(&o)
				t.Cleanup(func() { _ = client.Close() })
				var log bytes.Buffer
				s, err := fallback.New(redisstore.Must(client, redisstore.WithBudget(budget)), fallback.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				if err != nil {
					t.Fatal(err)
				}
				l := limiter(t, s, core.PerUser(core.PerSecond(100_000)))
				seen := load(l, time.Second)
				eventually(t, "the breaker opens", 5*time.Second, func() bool { return source(l) == core.FromLocal && s.Health().Degraded })
				h := s.Health()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				t.Logf("%d requests: slowest %v, %d waited; %+v; log:\n%s", seen.requests, seen.slowest, seen.waited, h, log.String())
				if seen.refused+seen.shared > 0 || r.counts(h.Failures) == 0 {
					t.Errorf("%d refused, %d shared, failures %+v", seen.refused, seen.shared, h.Failures)
				}
				if strings.Contains(log.String()+h.Nodes[0].LastError, redistest.Password) {
					t.Error("the password is shown")
				}
				if !raceEnabled && (seen.waited > 30 || seen.slowest > budget+50*time.Millisecond+seen.stalled) {
					t.Errorf("%d requests waited, the longest %v", seen.waited, seen.slowest)
				}
			})
		}
	}
}
