package redistest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestSentinelFailover(t *testing.T) {
	s := redistest.StartSentinel(t)
	client := s.Client(t)
	master, replica := s.Master(), s.Replica()

	if len(s.Addrs()) != 3 || len(s.Sentinels()) != 3 || master == replica {
		t.Fatalf("sentinels %v, master %s, replica %s", s.Addrs(), master.Addr(), replica.Addr())
	}

	incr(t, client, 1)
	s.Failover(t)

	if s.Master() != replica || s.Replica() != master {
		t.Fatalf("after Failover the master is %s, want %s", s.Master().Addr(), replica.Addr())
	}

	writesOn(t, client, replica)
}

func TestSentinelPromotesAfterKill(t *testing.T) {
	s := redistest.StartSentinel(t)
	client := s.Client(t)
	master, replica := s.Master(), s.Replica()

	incr(t, client, 1)
	master.Kill()
	writesOn(t, client, replica)

	if s.Master() != replica {
		t.Fatalf("master %s, want %s", s.Master().Addr(), replica.Addr())
	}

	// If the sentinel that led the failover dies before it told the others, they
	// start another one after 10 s: not before all agree.
	for _, sentinel := range s.Sentinels() {
		for start := time.Now(); !names(t, sentinel, replica); time.Sleep(20 * time.Millisecond) {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("sentinel %s does not name %s", sentinel.Addr(), replica.Addr())
			}
		}
	}

	s.Sentinels()[0].Kill()

	if s.Master() != replica {
		t.Fatalf("two sentinels name %s, want %s", s.Master().Addr(), replica.Addr())
	}
}

func names(t *testing.T, sentinel, want *redistest.Server) bool {
	t.Helper()

	addr, _ := sentinel.Do(t, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "tierlimit").([]any)

	return len(addr) == 2 && fmt.Sprintf("%v:%v", addr[0], addr[1]) == want.Addr()
}

// writesOn waits until a write through client arrives at want.
func writesOn(t *testing.T, client *redis.Client, want *redistest.Server) {
	t.Helper()

	var last error

	start := time.Now()

	// It takes 3 s, but a split vote of the sentinels costs 10 s each time.
	for i := 0; time.Since(start) < 40*time.Second; i++ {
		mark := fmt.Sprintf("mark-%d", i)
		if last = client.Set(context.Background(), "mark", mark, 0).Err(); last == nil && want.Do(t, "GET", "mark") == mark {
			if role := fmt.Sprint(want.Do(t, "ROLE")); !strings.HasPrefix(role, "[master") {
				continue // the write came by replication
			}

			t.Logf("writes again after %v", time.Since(start).Round(time.Millisecond))

			return
		}

		time.Sleep(20 * time.Millisecond)
	}

	t.Fatalf("no write arrives at %s; last error: %v", want.Addr(), last)
}
