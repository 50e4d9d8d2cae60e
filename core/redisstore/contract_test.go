package redisstore_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// patient is a budget that a loaded machine keeps: these tests are about answers, not about
// time.
const patient = 10 * time.Second

func TestContract(t *testing.T) {
	server := redistest.Start(t)
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) core.Store {
		server.Do(t, "FLUSHALL")
		return redisstore.Must(server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	})
}

func TestContractOverSentinel(t *testing.T) {
	sentinel := redistest.StartSentinel(t)
	client := sentinel.Client(t)
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) core.Store {
		sentinel.Master().Do(t, "FLUSHALL")
		return redisstore.Must(client, redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	})
}
