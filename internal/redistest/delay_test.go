package redistest_test

import (
	"bufio"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestProxyDelayIsLatencyNotRate(t *testing.T) {
	const (
		delay    = 300 * time.Millisecond
		requests = 60
		spacing  = 10 * time.Millisecond
	)

	_, p := proxied(t)
	raw := dial(t, p.Addr())
	ping(t, raw)
	p.SetDelay(delay)

	start := time.Now()
	ping(t, raw)

	if took := time.Since(start); took < delay || took > 2*delay {
		t.Fatalf("one request took %v, want about %v", took, delay)
	}

	// Spaced, so that each reply is a chunk of its own.
	sent := make(chan time.Time, requests)

	go func() {
		for i := range requests {
			sent <- time.Now()

			_, _ = fmt.Fprintf(raw, "ECHO %02d\r\n", i)

			time.Sleep(spacing)
		}
	}()

	var sum time.Duration

	in := bufio.NewReader(raw)

	for i := range requests {
		var n int
		if _, err := fmt.Fscanf(in, "$2\r\n%d\r\n", &n); err != nil || n != i {
			t.Fatalf("reply %d: %d, %v", i, n, err)
		}

		took := time.Since(<-sent)
		if sum += took; took < delay {
			t.Fatalf("reply %d after %v, want %v", i, took, delay)
		}
	}

	// If a delay held up the next read, they would take 1.5 times as long.
	if mean := sum / requests; mean > delay+delay/4 {
		t.Fatalf("overlapping requests took %v on average, want about %v", mean, delay)
	}

	p.Heal()

	start = time.Now()
	ping(t, raw)

	if took := time.Since(start); took > delay {
		t.Fatalf("after Heal a request took %v", took)
	}
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
