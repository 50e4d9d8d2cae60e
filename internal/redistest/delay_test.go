package redistest_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestProxyDelayIsLatencyNotRate(t *testing.T) {
	const (
		delay = 300 * time.Millisecond
		// If a delay held up the next read, the mean would be 1.5 times it.
		limit = delay + delay/4
		tries = 10
	)

	_, p := proxied(t)
	raw := dial(t, p.Addr())
	ping(t, raw)
	p.SetDelay(delay)

	// Each reply must be late every time, but on a busy machine some come much
	// later: once on time is enough to know that it can be.
	best := time.Hour
	for try := 0; try < tries && best > limit; try++ {
		best = min(best, spaced(t, raw, delay))
	}

	if best > limit {
		t.Fatalf("overlapping requests took %v on average, want about %v", best, delay)
	}

	p.Heal()

	best = time.Hour
	for range tries {
		start := time.Now()
		ping(t, raw)

		best = min(best, time.Since(start))
	}

	if best > delay/2 {
		t.Fatalf("after Heal a request took %v", best)
	}
}

// spaced gives the mean time of requests that are spaced so that each reply is
// a chunk of its own, and many are on their way at once.
func spaced(t *testing.T, conn net.Conn, atLeast time.Duration) time.Duration {
	t.Helper()

	const requests = 60

	sent := make(chan time.Time, requests)

	var wg sync.WaitGroup
	defer wg.Wait()

	wg.Go(func() {
		for i := range requests {
			sent <- time.Now()

			_, _ = fmt.Fprintf(conn, "ECHO %02d\r\n", i) // missed below

			time.Sleep(10 * time.Millisecond)
		}
	})

	if err := conn.SetDeadline(time.Now().Add(lenient)); err != nil {
		t.Fatal(err)
	}

	var sum time.Duration

	in := bufio.NewReader(conn)

	for i := range requests {
		var n int
		if _, err := fmt.Fscanf(in, "$2\r\n%d\r\n", &n); err != nil || n != i {
			t.Fatalf("reply %d: %d, %v", i, n, err)
		}

		took := time.Since(<-sent)
		if sum += took; took < atLeast {
			t.Fatalf("reply %d after %v, want at least %v", i, took, atLeast)
		}
	}

	return sum / requests
}

func TestProxyChangesUnderLoad(t *testing.T) {
	_, p := proxied(t)

	var wg sync.WaitGroup

	stop := make(chan struct{})

	for range 4 {
		client := impatient(t, p.Addr(), 50*time.Millisecond)

		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = client.Incr(t.Context(), "n").Err() // errors are the point
				}
			}
		})
	}

	for range 3 {
		for mode := redistest.Pass; mode <= redistest.Refuse; mode++ {
			p.SetMode(mode)
			p.SetDelay(time.Duration(mode) * time.Millisecond)
			time.Sleep(15 * time.Millisecond)
			p.CloseAll()
		}
	}

	close(stop)
	wg.Wait()
	p.Heal()
	ping(t, dial(t, p.Addr()))
}

func TestModeString(t *testing.T) {
	for mode, want := range map[redistest.Mode]string{
		redistest.Pass: "Pass", redistest.Refuse: "Refuse", 7: "Mode(7)", -1: "Mode(-1)",
	} {
		if got := mode.String(); got != want {
			t.Errorf("Mode %d is %q, want %q", int(mode), got, want)
		}
	}
}
