package processtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// backWithin is twice what is promised: the tests share their machine.
const backWithin = 3 * time.Second

// wide is a policy that refuses nothing, so that every refusal is a fault.
const wide = "name: shop\nlevels:\n  - {name: ip, limit: 1000000/min}\n  - {name: endpoint, limit: 1000000/s}\n"

func killed(t *testing.T, binary string) {
	outage(t, binary, (*redistest.Server).Kill, (*redistest.Server).Restart)
}

func stopped(t *testing.T, binary string) {
	outage(t, binary, (*redistest.Server).Stop, (*redistest.Server).Cont)
}

func outage(t *testing.T, binary string, hit, heal func(*redistest.Server)) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(wide), 0o600); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	url := "http://" + Start(t, binary, "-redis", server.URL(), "-policy", policy) + "/items/7"
	shared := func() bool { return strings.Contains(Do(t, "GET", url).Body, `"shared"`) }
	if !shared() {
		t.Fatal("the first decision is not shared")
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers, slowest := map[string]int{}, time.Duration(0)
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				a := Do(t, "GET", url)
				mu.Lock()
				answers[fmt.Sprint(a.Status, " ", a.Body)]++
				slowest = max(slowest, a.Took)
				mu.Unlock()
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	hit(server)
	time.Sleep(1500 * time.Millisecond)
	heal(server)
	begun := time.Now()
	for !shared() {
		if time.Since(begun) > backWithin {
			t.Error("decisions are not shared again")
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	back := time.Since(begun)
	close(stop)
	wg.Wait()
	t.Logf("back after %v, slowest answer %v, %v", back, slowest, answers)
	for a := range answers {
		if !strings.HasPrefix(a, "200 ") {
			t.Errorf("answered %s", a)
		}
	}
	if local := answers[`200 {"id":"7","decided":"local"}`]; local < 100 {
		t.Errorf("%d local decisions during the outage", local)
	}
}
