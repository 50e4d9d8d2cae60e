package redisstore_test

import (
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Connecting takes several round trips, the handshake's, and may take longer than the budget
// where an answer does not. Such a server has to be reached nevertheless, whatever the client.
func TestServerFartherThanAHandshakeWithinTheBudgetIsReached(t *testing.T) {
	t.Parallel()
	for name, opt := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			warm(t, server.Client(t), 1)
			proxy := redistest.StartProxy(t, server.Addr())
			proxy.SetDelay(22 * time.Millisecond)
			s := open(t, connect(t, proxy.Addr(), opt))
			start := time.Now()
			eventually(t, 4*time.Second, "answer", func() bool {
				_, err := try(s, levels("")...)
				return err == nil
			})
			t.Logf("reached after %v", time.Since(start).Round(time.Millisecond))
		})
	}
}
