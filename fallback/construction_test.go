package fallback_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
)

func TestWrongOptionsAreNamed(t *testing.T) {
	for want, opt := range map[string]fallback.Option{
		"replicas is 0":         fallback.WithReplicas(0),
		"replicas is -1":        fallback.WithReplicas(-1),
		"share is 0":            fallback.WithShare(0),
		"share is 1.5":          fallback.WithShare(1.5),
		"share is NaN":          fallback.WithShare(math.NaN()),
		"share is +Inf":         fallback.WithShare(math.Inf(1)),
		"max entries is 3":      fallback.WithLocalEntries(3),
		"logger is nil":         fallback.WithLogger(nil),
		"on-change function is": fallback.WithOnChange(nil),
		"option is nil":         nil,
	} {
		if _, err := fallback.New(newFake(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one that says %q", err, want)
		}
	}
	for _, shared := range []core.Store{nil, memstore.New()} {
		if _, err := fallback.New(shared); err == nil {
			t.Errorf("no error for the shared store %T", shared)
		}
	}
}

// The error of New is the only one that says what was wrong; a nil store must not hide it behind a
// panic.
func TestANilStoreIsNamed(t *testing.T) {
	s, err := fallback.New(newFake(), fallback.WithReplicas(0))
	if err == nil {
		t.Fatal("no error for zero replicas")
	}
	if _, err := core.New(s, core.Policy{core.PerUser(core.PerHour(1))}); err == nil || !strings.Contains(err.Error(), "look at the error of fallback.New") {
		t.Errorf("core.New says %v", err)
	}
	var shared *redisstore.Store
	if _, err := fallback.New(shared); err == nil || !strings.Contains(err.Error(), "look at the error of redisstore.New") {
		t.Errorf("fallback.New says %v", err)
	}
	if _, err := fallback.New(newFake(), fallback.WithReplicas(2), fallback.WithShare(0.5)); err == nil {
		t.Error("no error for two shares")
	}
}

func TestEachOfTwoFallbacksSeesTheSharedStoreFail(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = client.Close() })
	shared := redisstore.Must(client)
	first, second := wrap(t, shared), wrap(t, shared)
	admitted(limiter(t, first, core.PerUser(core.PerHour(100))), user, 20)
	// They are told one after the other, beside the requests.
	for name, s := range map[string]*fallback.Store{"the first": first, "the second": second} {
		eventually(t, name+" notices", time.Second, func() bool { return s.Health().Degraded })
	}
}
