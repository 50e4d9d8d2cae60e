package fallback_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

var discard = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis tells of each dial that these tests make fail
	if given := os.Getenv(replicaEnv); given != "" {
		replica(given)
		return
	}
	goleak.VerifyTestMain(m, redistest.ClientLeftovers()...)
}
