package floodguard_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/floodguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = floodguard.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))

func guard(t testing.TB, opts ...floodguard.Option) *floodguard.Guard {
	t.Helper()
	g, err := floodguard.New(append([]floodguard.Option{quiet}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func verdict(g *floodguard.Guard, key string, cost int64) core.Verdict {
	v, _ := g.Admit(key, cost)
	return v
}

// asked is one request of a model.
type asked struct {
	at    time.Time
	units int64
}

// within sums what was asked for in the last d, now included.
func within(all []asked, d time.Duration) (n int64) {
	for i := len(all) - 1; i >= 0 && time.Since(all[i].at) <= d; i-- {
		n += all[i].units
	}
	return n
}
