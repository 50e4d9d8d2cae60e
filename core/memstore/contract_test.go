package memstore_test

import (
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, clock *storetest.Clock) core.Store {
		return memstore.New(memstore.WithClock(clock.Now))
	})
}
