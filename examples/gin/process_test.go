package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tierlimit-gin")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "gin")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// start runs the program and returns where it listens.
func start(t *testing.T, args ...string) (url string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program did not end well: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no line that says ready: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	_, rest, _ := strings.Cut(line, "http://")
	url, _, _ = strings.Cut(rest, ",")
	return "http://" + url
}

type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

func get(t *testing.T, url string) answer {
	t.Helper()
	begun := time.Now()
	resp, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body), time.Since(begun)}
}

func TestAdmitsThreeHundredAMinuteAndTellsATrueWait(t *testing.T) {
	server := redistest.Start(t)
	url := start(t, "-redis", server.URL()) + "/items/7"
	begun, admitted := time.Now(), 0
	var last answer
	for last = get(t, url); last.status == http.StatusOK; last = get(t, url) {
		admitted++
	}
	refilled := int(time.Since(begun)/(200*time.Millisecond)) + 1
	if admitted < 300 || admitted > 300+refilled {
		t.Errorf("%d admitted, want 300 and at most %d that came back meanwhile", admitted, refilled)
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("refused with %d, %s", last.status, last.header.Get("Content-Type"))
	}
	wait, err := strconv.Atoi(last.header.Get("Retry-After"))
	if err != nil || wait != 1 {
		t.Fatalf("Retry-After is %q, want 1", last.header.Get("Retry-After"))
	}
	time.Sleep(time.Duration(wait) * time.Second)
	if again := get(t, url); again.status != http.StatusOK {
		t.Errorf("refused with %d after waiting as long as told", again.status)
	}
	for _, exempt := range []string{"/healthz", "/metrics"} {
		if a := get(t, strings.TrimSuffix(url, "/items/7")+exempt); a.status != http.StatusOK || a.header.Get("RateLimit") != "" {
			t.Errorf("%s: %d, RateLimit %q", exempt, a.status, a.header.Get("RateLimit"))
		}
	}
}

func TestOutageUnderLoadIsNoError(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	wide := "name: shop\nlevels:\n  - {name: ip, limit: 1000000/min}\n  - {name: endpoint, limit: 1000000/s}\n"
	if err := os.WriteFile(policy, []byte(wide), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, hit := range map[string][2]func(*redistest.Server){
		"killed":  {(*redistest.Server).Kill, (*redistest.Server).Restart},
		"stopped": {(*redistest.Server).Stop, (*redistest.Server).Cont},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			url := start(t, "-redis", server.URL(), "-policy", policy) + "/items/7"
			if a := get(t, url); !strings.Contains(a.body, `"shared"`) {
				t.Fatalf("first answer is %d %s", a.status, a.body)
			}
			stop := make(chan struct{})
			var wg sync.WaitGroup
			var mu sync.Mutex
			sources, slowest := map[string]int{}, time.Duration(0)
			for range 8 {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(5 * time.Millisecond):
						}
						a := get(t, url)
						mu.Lock()
						sources[fmt.Sprint(a.status, a.body)]++
						slowest = max(slowest, a.took)
						mu.Unlock()
					}
				})
			}
			time.Sleep(300 * time.Millisecond)
			hit[0](server)
			time.Sleep(1500 * time.Millisecond)
			hit[1](server)
			back := time.Now()
			for !strings.Contains(get(t, url).body, `"shared"`) {
				if time.Since(back) > 3*time.Second {
					t.Fatal("decisions are not shared again 3 s after the return of Redis")
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Logf("back after %v, slowest answer %v, %v", time.Since(back), slowest, sources)
			close(stop)
			wg.Wait()
			for a := range sources {
				if !strings.HasPrefix(a, "200") {
					t.Errorf("answered %s", a)
				}
			}
			if local := sources[`200{"decided":"local","id":"7"}`]; local < 100 {
				t.Errorf("%d local decisions during the outage", local)
			}
		})
	}
}

func TestStreamsAsItGoes(t *testing.T) {
	resp, err := http.Get(start(t) + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines, first := bufio.NewReader(resp.Body), time.Time{}
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "data:0") {
			first = time.Now()
		}
		if strings.HasPrefix(line, "data:4") && time.Since(first) < 500*time.Millisecond {
			t.Error("the last event came with the first: the stream was held back")
		}
		if err != nil {
			break
		}
	}
	if first.IsZero() {
		t.Error("no event came")
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("levels:\n  - {name: ip, limit: 300}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for want, args := range map[string][]string{
		"-redis":               {"-redis", "http://127.0.0.1"},
		"policy.yaml:2:":       {"-policy", policy},
		"no such file":         {"-policy", policy + "x"},
		"address already in":   {"-addr", busy.Addr().String()},
		"flag provided but no": {"-nonsense"},
	} {
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s; want an error that says %q", args, err, out, want)
		}
	}
}
