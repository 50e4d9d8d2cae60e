package fallback_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestContractWhileSharedStoreAnswers(t *testing.T) {
	server := redistest.Start(t)
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) core.Store {
		server.Do(t, "FLUSHALL")
		shared := redisstore.Must(server.Client(t), redisstore.WithBudget(10*time.Second), redisstore.WithClock(clock.Now))
		s, err := fallback.New(shared)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
